#include "app/measured_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/model_choice.h"
#include "app/options.h"
#include "app/text_file.h"
#include "runtime/measure/sample_text.h"

namespace octavo {

void add_text_options(CLI::App& command, TextOptions& options) {
    command
        .add_option("-f,--file", options.file, "A text to read; '-': standard input (default: one made from the seed)")
        ->type_name("FILE");
    add_count_option(command, "--tokens", options.tokens, "Tokens of it to read (default: 8k)");
    add_seed_option(command, options.seed, "Of the made text");
}

Result<std::vector<int32_t>> measured_tokens(const TextOptions& options, const Model& model) {
    if (const Status usable = need_tokenizer(model); !usable) return usable.error();
    const auto wanted = static_cast<size_t>(options.tokens);
    const auto encode = [&](const std::string& text) -> Result<std::vector<int32_t>> {
        Result<std::vector<int32_t>> ids = model.tokenizer->encode_text(text);
        if (ids && ids->size() > wanted) ids->resize(wanted);
        return ids;
    };
    if (!options.file.empty()) {
        const Result<std::string> text = read_text_file(options.file);
        if (!text) return text.error();
        return encode(*text);
    }
    for (size_t bytes_per_token = 4;; bytes_per_token *= 2) {
        Result<std::vector<int32_t>> ids = encode(sample_text(options.seed, wanted * bytes_per_token));
        if (!ids || ids->size() == wanted) return ids;
    }
}

std::string text_line(const TextOptions& options, size_t tokens) {
    const std::string source =
        options.file.empty() ? fmt::format("a text made from seed {}", options.seed) : options.file;
    return fmt::format("{}, {} tokens", source, tokens);
}

}  // namespace octavo
