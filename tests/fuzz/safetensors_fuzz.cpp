// Any bytes as each of the files that a safetensors folder holds: weights, config.json, and the list of shards.
// A header alone is completed with data, so that what it describes is read on to the weights of a small model.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "models/hybrid/config_reader.h"
#include "models/hybrid/weights_reader.h"
#include "models/safetensors/header.h"
#include "models/tensors/stored_rows.h"

namespace {

// The sizes of the seeds' models.
constexpr std::string_view kConfig = R"({"model_type":"qwen3_5_moe_text","vocab_size":290,"hidden_size":48,
    "num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":64,"rms_norm_eps":1e-6,
    "linear_num_key_heads":2,"linear_num_value_heads":4,"linear_key_head_dim":32,"linear_value_head_dim":32,
    "linear_conv_kernel_dim":4,"num_experts":6,"num_experts_per_tok":2,"moe_intermediate_size":24,
    "shared_expert_intermediate_size":32,"max_position_embeddings":4096,"rope_theta":1e7})";
constexpr size_t kDataBytes = 520'000;
constexpr int64_t kMostDecoded = 1 << 16;  // values of a tensor; more would only take time

// As `inspect` decodes them.
void decode_tensors(const octavo::TensorStore& store) {
    for (const octavo::StoredTensor& tensor : store.tensors()) {
        const auto stored = octavo::stored_rows(store, tensor);
        if (!stored || stored->rows.rows * stored->rows.cols > kMostDecoded) continue;
        std::vector<float> values(static_cast<size_t>(stored->rows.rows * stored->rows.cols));
        octavo::decode(*stored, values.data());
    }
}

void read_weights(std::span<const std::byte> file) {
    auto tensors = octavo::parse_safetensors(file);
    if (!tensors) return;
    octavo::TensorStore store;
    if (!store.add(std::move(*tensors))) return;
    decode_tensors(store);
    const auto description = octavo::read_hybrid_config(kConfig);
    for (const auto* names : {&octavo::hf_multimodal_tensor_names(), &octavo::hf_text_tensor_names()}) {
        (void)octavo::read_hybrid_weights(*description, store, *names, "num_hidden_layers");
    }
}

std::vector<std::byte> completed(std::span<const std::byte> header) {
    const uint64_t length = header.size();
    // Not zero, which no factor may be that weights are divided by.
    std::vector<std::byte> file(sizeof length + header.size() + kDataBytes, std::byte{0x3f});
    std::memcpy(file.data(), &length, sizeof length);
    std::memcpy(file.data() + sizeof length, header.data(), header.size());
    return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_weights(bytes);
    if (text.starts_with('{')) read_weights(completed(bytes));
    (void)octavo::read_hybrid_config(text);
    (void)octavo::parse_safetensors_index(text);
    return 0;
}
