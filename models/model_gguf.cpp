#include <fmt/format.h>

#include "models/gguf/checkpoint.h"
#include "models/hybrid/config_reader.h"
#include "models/hybrid/weights_reader.h"
#include "models/model_sources.h"

namespace octavo {
namespace {

// Files for tokenize alone, and files of other tools.
Status check_has_weights(const GgufCheckpoint& checkpoint) {
    if (!checkpoint.tensors.tensors().empty()) return {};
    const bool vocabulary = checkpoint.metadata.find("tokenizer.ggml.tokens") != nullptr;
    return Error{ErrorKind::input, vocabulary ? "it holds only a tokenizer and no weights, so no model can run from it"
                                              : "it holds no tensors"};
}

Result<Model> assemble(GgufCheckpoint checkpoint, const std::string& source, const std::string& default_name) {
    Model model;
    model.source = source;
    model.format = "GGUF v3";
    const GgufMetadata& metadata = checkpoint.metadata;
    if (Status status = check_has_weights(checkpoint); !status) return status.error();
    const auto name = metadata.text("general.name");
    if (!name) return name.error();
    model.name = name->value_or(default_name);

    Result<HybridDescription> description = read_hybrid_config(metadata, checkpoint.tensors);
    if (!description) return description.error();
    Result<HybridWeightsFile> weights =
        read_hybrid_weights(*description, checkpoint.tensors, gguf_tensor_names(),
                            fmt::format("{}.block_count", description->config.architecture));
    if (!weights) return weights.error();
    model.config = std::move(description->config);
    model.weights = std::move(weights->weights);
    model.drafts = std::move(weights->drafts);
    model.draft_bytes = weights->draft_bytes;
    model.weight_bytes = weights->bytes;
    model.parameters = weights->parameters;
    model.bytes_by_type = std::move(weights->bytes_by_type);
    model.notes = std::move(weights->notes);
    model.owners = std::move(checkpoint.owners);
    model.owners.push_back(std::move(weights->floats));

    if (Status status = read_gguf_text(metadata, model.config.vocab, model); !status) return status.error();
    return model;
}

}  // namespace

Result<Model> read_gguf_model(const std::filesystem::path& path) {
    Result<GgufCheckpoint> checkpoint = open_gguf(path);
    if (!checkpoint) return checkpoint.error();
    return assemble(std::move(*checkpoint), path.string(), path.stem().string());
}

Result<Model> read_gguf_model(std::span<const std::byte> bytes, const std::string& source) {
    Result<GgufCheckpoint> checkpoint = open_gguf(bytes);
    if (!checkpoint) return checkpoint.error();
    return assemble(std::move(*checkpoint), source, source);
}

}  // namespace octavo
