#include "models/hybrid/config_reader.h"
#include "models/hybrid/weights_reader.h"
#include "models/model_sources.h"
#include "models/safetensors/checkpoint.h"

namespace octavo {
namespace {

constexpr size_t kMaxConfigBytes = 4 << 20;

const TensorNames& names_of(const TensorStore& tensors) {
    const TensorNames& multimodal = hf_multimodal_tensor_names();
    return tensors.find(multimodal.embedding) >= 0 ? multimodal : hf_text_tensor_names();
}

}  // namespace

Result<Model> read_safetensors_model(const std::filesystem::path& folder) {
    if (Status status = check_checkpoint_folder(folder); !status) return status.error();
    const auto config = read_text(folder, "config.json", kMaxConfigBytes);
    if (!config) return config.error();
    if (!*config) return Error{ErrorKind::input, "the folder has no config.json; fetch it too"};
    Result<HybridDescription> description = read_hybrid_config(**config);
    if (!description) return description.error();
    Result<SafetensorsCheckpoint> checkpoint = open_safetensors(folder);
    if (!checkpoint) return checkpoint.error();
    Result<HybridWeightsFile> weights =
        read_hybrid_weights(*description, checkpoint->tensors, names_of(checkpoint->tensors), "num_hidden_layers");
    if (!weights) return weights.error();

    Model model;
    model.name = std::filesystem::absolute(folder).lexically_normal().filename().string();
    model.source = folder.string();
    model.format = "safetensors";
    model.config = std::move(description->config);
    model.weights = std::move(weights->weights);
    model.drafts = std::move(weights->drafts);
    model.draft_bytes = weights->draft_bytes;
    model.weight_bytes = weights->bytes;
    model.parameters = weights->parameters;
    model.bytes_by_type = std::move(weights->bytes_by_type);
    model.notes = std::move(weights->notes);
    model.owners = std::move(checkpoint->owners);
    model.owners.push_back(std::move(weights->floats));
    if (Status status = read_folder_text(folder, model.config.vocab, model); !status) return status.error();
    return model;
}

}  // namespace octavo
