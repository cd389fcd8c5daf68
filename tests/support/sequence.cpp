#include "tests/support/sequence.h"

namespace octavo::test {

TestSequence::TestSequence(const HybridConfig& config, KvFormat format, int64_t cells, Memory& memory)
    : memory_(&memory) {
    const auto side = [&] {
        KvSide side;
        side.format = format;
        side.payload =
            zeroed(static_cast<size_t>(cells * config.kv_heads * kv_payload_bytes_per_row(format, config.head_dim)));
        return side;
    };
    for (LayerKind kind : config.layer_kinds) {
        if (kind == LayerKind::full_attention) {
            KvView view;
            view.kv_heads = config.kv_heads;
            view.head_dim = config.head_dim;
            view.k = side();
            view.v = side();
            state_.attention.push_back(view);
        } else {
            const auto floats = [&](int count) {
                return reinterpret_cast<float*>(zeroed(static_cast<size_t>(count) * sizeof(float)));
            };
            state_.delta_net.push_back({floats(config.conv_state_floats()), floats(config.gdn_state_floats())});
        }
    }
}

std::byte* TestSequence::zeroed(size_t bytes) {
    Result<Buffer> buffer = memory_->allocate(bytes, "a test's sequence");
    if (!buffer) return nullptr;
    memory_->clear(buffer->data(), bytes);
    return buffers_.emplace_back(std::move(*buffer)).data();
}

}  // namespace octavo::test
