// octavo inspect: what is in a model file, and what of it this program cannot use.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/model_choice.h"
#include "app/model_contents.h"
#include "app/npy.h"
#include "app/output.h"
#include "app/printable_text.h"
#include "app/recommended_sampling.h"
#include "app/size_text.h"

namespace octavo {
namespace {

struct Options {
    std::string model;
    std::string tensor;
    std::string output;
    JsonOption json;
};

// What the program makes of the file.
struct Verdict {
    std::shared_ptr<const Model> model;    // nullptr: it cannot be run
    std::vector<std::string> unsupported;  // in sentences
};

Verdict judge(const Options& options, const ModelContents& contents) {
    Verdict verdict;
    std::set<std::string> types;
    for (const StoredTensor& tensor : contents.tensors.tensors())
        if (!can_decode(contents, tensor)) types.insert(tensor.type_name);
    for (const std::string& type : types)
        verdict.unsupported.push_back(fmt::format("Weights of the type {} cannot be decoded.", type));
    const auto model = open_chosen_model(options.model);
    if (!model) {
        verdict.unsupported.push_back(model.error().message);
        return verdict;
    }
    verdict.model = *model;
    if (!verdict.model->tokenizer) verdict.unsupported.emplace_back("The vocabulary is missing or not understood.");
    return verdict;
}

std::string model_text(const Model& model) {
    const HybridConfig& c = model.config;
    std::string text = model_line(model) + "\n";
    text += fmt::format("{}: {} layers ({} full attention, {} Gated DeltaNet), width {}, context {} tokens\n",
                        printable_line(c.architecture), c.layers, c.attention_layers(), c.gdn_layers(), c.hidden,
                        group_digits(c.context_length));
    text += fmt::format("attention: {} query heads, {} KV heads, head_dim {}, {} rotary dims\n", c.heads, c.kv_heads,
                        c.head_dim, c.rope_dims);
    text += fmt::format("Gated DeltaNet: {} key heads of {}, {} value heads of {}, convolution {}\n", c.gdn_key_heads,
                        c.gdn_key_dim, c.gdn_value_heads, c.gdn_value_dim, c.conv_kernel);
    if (c.experts > 0)
        text += fmt::format("feed-forward: {} experts, {} used, width {}; shared expert width {}\n", c.experts,
                            c.experts_used, c.expert_ff, c.shared_ff);
    else
        text += fmt::format("feed-forward: dense, width {}\n", c.shared_ff);
    if (model.tokenizer)
        text += fmt::format("tokenizer: {}, {} tokens\n", model.tokenizer->family(),
                            group_digits(model.tokenizer->vocab_size()));
    if (model.chat) text += fmt::format("chat template: dialect {}\n", model.chat->dialect().name);
    if (model.sampling.any())
        text += fmt::format("recommended sampling: {}\n", sampling_text(recommended_sampling(model)));
    for (const std::string& note : model.notes) text += fmt::format("note: {}\n", printable_line(note));
    return text;
}

void print_all(const Options& options, const ModelContents& contents, const Verdict& verdict) {
    std::string text = verdict.model ? model_text(*verdict.model) : contents.format + "\n";
    for (const std::string& sentence : verdict.unsupported)
        text += fmt::format("not supported: {}\n", printable_line(sentence));
    text += fmt::format("\n{} metadata keys\n", contents.metadata.size());
    for (const MetadataLine& line : contents.metadata)
        text += fmt::format("  {} = {}  ({})\n", printable_line(line.key), printable_line(line.value), line.type);
    text += fmt::format("\n{} tensors\n", contents.tensors.tensors().size());
    for (const StoredTensor& tensor : contents.tensors.tensors())
        text += fmt::format("  {:<40} {:<6} {:<18} {:>14} bytes\n", printable_line(tensor.name),
                            printable_line(tensor.type_name), shape_text(tensor.shape),
                            group_digits(static_cast<int64_t>(tensor.data.size())));
    print_result(options.json, text);
}

nlohmann::json model_json(const Model& model) {
    const HybridConfig& c = model.config;
    return {{"name", model.name},
            {"architecture", c.architecture},
            {"parameters", model.parameters},
            {"weight_bytes", model.weight_bytes},
            {"bytes_by_type", model.bytes_by_type},
            {"layers", c.layers},
            {"attention_layers", c.attention_layers()},
            {"context_length", c.context_length},
            {"hidden", c.hidden},
            {"heads", c.heads},
            {"kv_heads", c.kv_heads},
            {"head_dim", c.head_dim},
            {"experts", c.experts},
            {"experts_used", c.experts_used},
            {"tokenizer", model.tokenizer ? model.tokenizer->family() : ""},
            {"vocab", c.vocab},
            {"template_dialect", model.chat ? model.chat->dialect().name : ""},
            {"notes", model.notes}};
}

nlohmann::json inspect_json(const ModelContents& contents, const Verdict& verdict) {
    nlohmann::json metadata = nlohmann::json::array();
    for (const MetadataLine& line : contents.metadata)
        metadata.push_back({{"key", line.key}, {"type", line.type}, {"value", line.value}});
    nlohmann::json tensors = nlohmann::json::array();
    for (const StoredTensor& tensor : contents.tensors.tensors())
        tensors.push_back({{"name", tensor.name},
                           {"type", tensor.type_name},
                           {"shape", tensor.shape},
                           {"bytes", tensor.data.size()},
                           {"supported", can_decode(contents, tensor)}});
    return {{"format", contents.format},
            {"supported", verdict.model != nullptr},
            {"model", verdict.model ? model_json(*verdict.model) : nlohmann::json()},
            {"unsupported", verdict.unsupported},
            {"metadata", metadata},
            {"tensors", tensors}};
}

int write_tensor(const Options& options, const ModelContents& contents) {
    const int index = contents.tensors.find(options.tensor);
    if (index < 0)
        return fail(
            {ErrorKind::usage, fmt::format("The file has no tensor {}: inspect it without --tensor.", options.tensor)});
    const StoredTensor& tensor = contents.tensors.tensors()[static_cast<size_t>(index)];
    if (const Status target = check_npy_target(options.output); !target) return fail(target.error());
    const Result<DecodedTensor> decoded = decode_tensor(contents, tensor);
    if (!decoded) return fail(decoded.error());
    const Status written = write_npy(options.output, decoded->shape, decoded->values);
    if (!written) return fail(written.error());
    std::string text =
        fmt::format("{}: {} {} as float32", options.output, printable_line(tensor.name), shape_text(decoded->shape));
    for (const std::string& scales : decoded->scales) text += fmt::format(", times {}", printable_line(scales));
    print_result(options.json, text + "\n");
    return finish(options.json, nlohmann::json{{"tensor", tensor.name},
                                               {"type", tensor.type_name},
                                               {"shape", decoded->shape},
                                               {"scales", decoded->scales},
                                               {"file", options.output}});
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    if (const Status apart = check_json_apart(options.json, options.output); !apart) return fail(apart.error());
    const Result<ModelContents> contents = read_model_contents(options.model);
    if (!contents) return fail(contents.error());
    if (!options.tensor.empty()) return write_tensor(options, *contents);
    const Verdict verdict = judge(options, *contents);
    print_all(options, *contents, verdict);
    // Of 200,000 tensors it takes 200 MB.
    return options.json.wanted ? finish(options.json, inspect_json(*contents, verdict)) : 0;
}

}  // namespace

RunCommand add_inspect_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    add_file_option(command, "file,-m,--model", options->model,
                    "A GGUF file or a folder of safetensors (default: bundled)");
    CLI::Option* tensor =
        command.add_option("--tensor", options->tensor, "Decode one tensor to float32 ...")->type_name("NAME");
    CLI::Option* output =
        add_file_option(command, "-o,--output", options->output, "... and write it here")->type_name("FILE.npy");
    tensor->needs(output);
    output->needs(tensor);
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
