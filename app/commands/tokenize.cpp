// octavo tokenize: text to token ids, and back.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/commands/commands.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/text_file.h"
#include "app/token_list.h"

namespace octavo {
namespace {

struct Options {
    std::string model;
    std::string text;
    std::string file;
    std::string decode;
    bool special_as_text = false;
    JsonOption json;
};

int print_ids(const Options& options, const Tokenizer& tokenizer, const std::string& text) {
    const Result<std::vector<int32_t>> ids = tokenizer.encode({PromptPart{text, !options.special_as_text}});
    if (!ids) return fail(ids.error());
    print_result(options.json, token_list_text(*ids) + "\n");
    return finish(options.json, nlohmann::json{{"ids", *ids}, {"tokens", ids->size()}});
}

int print_text(const Options& options, const Tokenizer& tokenizer) {
    const Result<std::vector<int32_t>> ids = parse_token_list(options.decode);
    if (!ids) return fail(ids.error());
    if (const Status in_vocabulary = check_token_ids(*ids, tokenizer.vocab_size()); !in_vocabulary)
        return fail(in_vocabulary.error());
    const std::string text = decode(tokenizer, *ids);
    print_result(options.json, text + "\n");
    return finish(options.json, nlohmann::json{{"ids", *ids}, {"text", text}});
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const auto model = open_chosen_text(options.model);
    if (!model) return fail(model.error());
    if (const Status usable = need_tokenizer(**model); !usable) return fail(usable.error());
    const Tokenizer& tokenizer = *(*model)->tokenizer;
    if (!options.decode.empty()) return print_text(options, tokenizer);
    if (options.file.empty()) {
        if (const Status text = check_text("The text after --text", options.text); !text) return fail(text.error());
        return print_ids(options, tokenizer, options.text);
    }
    const Result<std::string> text = read_text_file(options.file);
    return text ? print_ids(options, tokenizer, *text) : fail(text.error());
}

}  // namespace

RunCommand add_tokenize_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    add_file_option(command, "-m,--model", options->model, "Model whose vocabulary is used (default: bundled)");
    CLI::Option_group* input = command.add_option_group("input", "One of these");
    input->add_option("--text", options->text, "The text")->type_name("T");
    add_file_option(*input, "-f,--file", options->file, "A UTF-8 text file; '-' is standard input");
    input->add_option("--decode", options->decode, "Token ids, \"1,2,3\": print their text")
        ->type_name("IDS")
        ->check(not_empty("the list of token ids is empty."));
    input->require_option(1);
    command.add_flag("--special-as-text", options->special_as_text,
                     "Take '<|im_start|>' and the like as plain text, as chat does with what a person types");
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
