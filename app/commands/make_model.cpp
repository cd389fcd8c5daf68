// octavo make-model: files of random weights in the sizes of real models, for tests and timings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/commands/commands.h"
#include "app/long_job.h"
#include "app/options.h"
#include "app/output.h"
#include "app/size_text.h"
#include "models/random/random_file.h"

namespace octavo {
namespace {

struct Options {
    std::string shape = "35b-a3b";
    std::string type = "q4_k";
    std::string tokenizer;
    std::string output;
    int layers = 0;
    int experts = 0;
    int vocab = 0;
    bool draft = false;
    bool force = false;
    uint64_t seed = 0;
    JsonOption json;
};

Result<RandomFileRequest> make_request(const Options& options) {
    RandomFileRequest request;
    request.shape = find_model_shape(options.shape);
    if (request.shape == nullptr)
        return Error{ErrorKind::usage,
                     fmt::format("there is no shape '{}'; shapes: {}.", options.shape, model_shape_names())};
    const Result<TypeMix> types = parse_type_mix(options.type);
    if (!types) return types.error();
    request.types = *types;
    request.changes = {options.layers, options.experts, options.vocab, options.draft};
    request.seed = options.seed;
    request.tokenizer = options.tokenizer;
    request.overwrite = options.force;
    return request;
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    if (const Status apart = check_json_apart(options.json, options.output); !apart) return fail(apart.error());
    const Result<RandomFileRequest> request = make_request(options);
    if (!request) return fail(request.error());
    const auto start = std::chrono::steady_clock::now();
    const Result<RandomFile> file =
        run_long("make-model", [&](Job& job) { return write_random_model(*request, options.output, job); });
    if (!file) return fail(file.error());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    print_result(options.json,
                 fmt::format("{}: {} tensors, {:.1f} M parameters, {} in {:.1f} s ({:.0f} MB/s)\n", options.output,
                             file->tensors, static_cast<double>(file->parameters) * 1e-6, bytes_text(file->bytes),
                             seconds, static_cast<double>(file->bytes) * 1e-6 / std::max(seconds, 1e-3)));
    return finish(options.json, nlohmann::json{{"file", options.output},
                                               {"shape", options.shape},
                                               {"type", options.type},
                                               {"seed", options.seed},
                                               {"bytes", file->bytes},
                                               {"parameters", file->parameters},
                                               {"tensors", file->tensors}});
}

}  // namespace

RunCommand add_make_model_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    command.add_option("--shape", options->shape, fmt::format("Sizes of a model: {}", model_shape_names()))
        ->capture_default_str();
    command.add_option("--type", options->type, "Type of the matrices: q4_k, q8_0, f16, ..., or the mix q4_k_m")
        ->capture_default_str();
    command.add_option("--layers", options->layers, "Layers (default: the shape's)")->check(CLI::Range(1, 1024));
    command.add_option("--experts", options->experts, "Experts a layer (default: the shape's)")
        ->check(CLI::Range(1, 4096));
    command.add_option("--vocab", options->vocab, "Tokens of the vocabulary (default: the shape's)")
        ->check(CLI::Range(kSmallestVocab, 1 << 20));
    command.add_flag("--mtp", options->draft, "With one draft (MTP) block after the layers");
    add_seed_option(command, options->seed, "The same seed gives the same file");
    add_file_option(command, "--tokenizer", options->tokenizer,
                    "A GGUF file whose tokenizer is taken (default: a vocabulary of bytes)");
    command.add_flag("--force", options->force, "Overwrite a file of that name");
    add_file_option(command, "-o,--output", options->output, "The GGUF file to write")->required();
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
