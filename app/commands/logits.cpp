// octavo logits: the logits of a prompt as a .npy file, for parity checks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/engine_setup.h"
#include "app/model_choice.h"
#include "app/npy.h"
#include "app/output.h"
#include "app/text_file.h"
#include "app/token_list.h"

namespace octavo {
namespace {

struct Options {
    ModelOptions model;
    CacheOptions cache;
    JsonOption json;
    std::string ids;
    std::string text;
    std::string ids_file;
    std::string split;
    std::string output;
    int64_t last = 0;  // 0: every position
};

struct LogitRows {
    int64_t first_position = 0;
    std::vector<float> values;  // [positions][vocab]
};

Result<std::vector<int32_t>> prompt_ids(const Options& options, const Model& model) {
    if (!options.text.empty()) {
        if (const Status text = check_text("The text after --text", options.text); !text) return text.error();
        if (const Status usable = need_tokenizer(model); !usable) return usable.error();
        return model.tokenizer->encode_text(options.text);
    }
    if (!options.ids.empty()) return parse_token_list(options.ids);
    const Result<std::string> text = read_text_file(options.ids_file);
    if (!text) return text.error();
    return parse_token_list(*text);
}

// Sizes of the parts the prompt is read in; what --split leaves is one part.
Result<std::vector<int64_t>> part_sizes(const Options& options, int64_t tokens) {
    std::vector<int64_t> parts;
    int64_t left = tokens;
    if (!options.split.empty()) {
        const Result<std::vector<int32_t>> sizes = parse_token_list(options.split);
        if (!sizes) return sizes.error();
        for (const int32_t size : *sizes) {
            if (size <= 0 || size > left)
                return Error{ErrorKind::usage, fmt::format("--split {}: the parts must be above 0 and sum to at most "
                                                           "the prompt's {} tokens.",
                                                           options.split, tokens)};
            parts.push_back(size);
            left -= size;
        }
    }
    if (left > 0) parts.push_back(left);
    return parts;
}

Result<LogitRows> compute(Engine& engine, const std::vector<int32_t>& ids, const std::vector<int64_t>& parts,
                          int64_t rows) {
    const size_t vocab = static_cast<size_t>(engine.model().config.vocab);
    LogitRows result;
    result.first_position = static_cast<int64_t>(ids.size()) - rows;
    result.values.reserve(static_cast<size_t>(rows) * vocab);
    const Status status = engine.call("logits", [&](Session& session) -> Status {
        Job job;
        std::span<const int32_t> rest = ids;
        for (const int64_t part : parts) {
            const int64_t wanted =
                std::min(part, std::max<int64_t>(0, session.position() + part - result.first_position));
            const auto keep = [&](int64_t, int count, const float* logits) {
                result.values.insert(result.values.end(), logits, logits + static_cast<size_t>(count) * vocab);
            };
            const Status done = session.append(rest.first(static_cast<size_t>(part)), wanted, keep, job);
            if (!done) return done;
            rest = rest.subspan(static_cast<size_t>(part));
        }
        return {};
    });
    if (!status) return status.error();
    return result;
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    if (const Status apart = check_json_apart(options.json, options.output); !apart) return fail(apart.error());
    if (const Status target = check_npy_target(options.output); !target) return fail(target.error());
    const Result<std::unique_ptr<Engine>> engine = start_engine(options.model, options.cache);
    if (!engine) return fail(engine.error());
    const Model& model = (*engine)->model();
    const Result<std::vector<int32_t>> ids = prompt_ids(options, model);
    if (!ids) return fail(ids.error());
    if (const Status valid = check_token_ids(*ids, model.config.vocab); !valid) return fail(valid.error());
    const auto tokens = static_cast<int64_t>(ids->size());
    const Result<std::vector<int64_t>> parts = part_sizes(options, tokens);
    if (!parts) return fail(parts.error());
    if (options.last > tokens)
        return fail({ErrorKind::usage, fmt::format("--last {}: the prompt has only {} tokens.", options.last, tokens)});
    const int64_t rows = options.last == 0 ? tokens : options.last;
    const Result<LogitRows> logits = compute(**engine, *ids, *parts, rows);
    if (!logits) return fail(logits.error());
    const Status written = write_npy(options.output, {rows, model.config.vocab}, logits->values);
    if (!written) return fail(written.error());

    std::vector<int64_t> argmax;
    for (int64_t row = 0; row < rows; ++row) {
        const auto first = logits->values.begin() + row * model.config.vocab;
        argmax.push_back(std::max_element(first, first + model.config.vocab) - first);
    }
    print_result(options.json,
                 fmt::format("{}: logits of {} positions from {}, vocabulary {}; best token of the last one: {}\n",
                             options.output, rows, logits->first_position, model.config.vocab, argmax.back()));
    return finish(options.json, nlohmann::json{{"file", options.output},
                                               {"positions", rows},
                                               {"first_position", logits->first_position},
                                               {"vocab", model.config.vocab},
                                               {"tokens", tokens},
                                               {"argmax", argmax},
                                               {"scheme", (*engine)->info().scheme},
                                               {"window", (*engine)->info().kv.window},
                                               {"sinks", (*engine)->info().kv.sinks},
                                               {"equalise", kv_equalise_name((*engine)->info().equalise)},
                                               {"outliers", options.cache.outliers},
                                               {"device", (*engine)->info().device}});
}

}  // namespace

RunCommand add_logits_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    options->cache.equalise = kv_equalise_name(KvEqualise::off);  // for parity: the weights as the file has them
    CLI::Option_group* input = command.add_option_group("prompt", "One of these");
    input->add_option("--ids", options->ids, "Token ids, \"1,2,3\"")
        ->type_name("LIST")
        ->check(not_empty("the list of token ids is empty."));
    input->add_option("--text", options->text, "Text, encoded without special tokens")
        ->type_name("T")
        ->check(not_empty("the text is empty: logits need at least one token."));
    add_file_option(*input, "--ids-file", options->ids_file, "File of token ids: numbers, or a JSON array");
    input->require_option(1);
    add_count_option(command, "--last", options->last, "Only the last N positions (default: all)");
    command.add_option("--split", options->split, "Read the prompt in parts of these sizes, \"1,63,64\"")
        ->type_name("LIST")
        ->check(not_empty("the list of sizes is empty."));
    add_file_option(command, "-o,--output", options->output, "float32 [positions, vocab]")
        ->type_name("FILE.npy")
        ->required();
    add_model_options(command, options->model);
    add_cache_options(command, options->cache);
    add_testing_options(command, options->cache);
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
