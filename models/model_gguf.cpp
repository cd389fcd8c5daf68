#include <fmt/format.h>

#include <algorithm>

#include "models/gguf/checkpoint.h"
#include "models/gguf/vocabulary.h"
#include "models/hybrid/config_reader.h"
#include "models/hybrid/weights_reader.h"
#include "models/model_sources.h"
#include "models/tokenizer/sentencepiece_tokenizer.h"

namespace octavo {
namespace {

Status read_tokenizer(const GgufMetadata& metadata, Model& model) {
    const auto found = read_gguf_vocabulary(metadata, model.config.vocab);
    if (!found) return found.error();
    if (!*found) {
        set_no_tokenizer(model, "The file has no tokenizer.");
        return {};
    }
    const GgufVocabulary& vocabulary = **found;
    if (vocabulary.model == "gpt2") {
        set_no_tokenizer(model, "Byte-level BPE tokenizers are not supported yet.");
        return {};
    }
    SentencePieceSource source;
    source.tokens = vocabulary.tokens;
    source.scores = vocabulary.scores;
    source.types = vocabulary.types;
    source.special = {.end_of_text = vocabulary.eos,
                      .end_of_turn = vocabulary.eot,
                      .padding = vocabulary.padding,
                      .unknown = vocabulary.unknown};
    source.add_space_prefix = vocabulary.add_space_prefix;
    Result<std::shared_ptr<const Tokenizer>> tokenizer = make_sentencepiece(source);
    if (!tokenizer) return tokenizer.error();
    model.tokenizer = std::move(*tokenizer);
    return {};
}

Status read_sampling(const GgufMetadata& metadata, SamplingHints& hints) {
    const auto temperature = metadata.real("general.sampling.temp");
    if (!temperature) return temperature.error();
    if (*temperature) hints.temperature = static_cast<float>(**temperature);
    const auto top_k = metadata.integer("general.sampling.top_k");
    if (!top_k) return top_k.error();
    if (*top_k) hints.top_k = static_cast<int>(std::clamp<int64_t>(**top_k, 0, INT32_MAX));
    const auto top_p = metadata.real("general.sampling.top_p");
    if (!top_p) return top_p.error();
    if (*top_p) hints.top_p = static_cast<float>(**top_p);
    return {};
}

Result<Model> assemble(GgufCheckpoint checkpoint, const std::string& source, const std::string& default_name) {
    Model model;
    model.source = source;
    model.format = "GGUF v3";
    const GgufMetadata& metadata = checkpoint.metadata;
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

    if (Status status = read_tokenizer(metadata, model); !status) return status.error();
    const auto chat = metadata.text("tokenizer.chat_template");
    if (!chat) return chat.error();
    set_chat_template(model, chat->value_or(""));
    if (Status status = read_sampling(metadata, model.sampling); !status) return status.error();
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
