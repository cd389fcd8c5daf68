#include "runtime/recurrent_state.h"

namespace octavo {
namespace {

// 16 floats are one cache line: every layer's arrays start aligned for vector loads.
int64_t padded(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace

int64_t RecurrentState::bytes_of(const HybridConfig& config) {
    const int64_t floats = padded(config.conv_state_floats()) + padded(config.gdn_state_floats());
    return config.gdn_layers() * floats * static_cast<int64_t>(sizeof(float));
}

Result<RecurrentState> RecurrentState::create(const HybridConfig& config, Memory& memory) {
    RecurrentState state;
    state.place_ = &memory;
    state.layer_count_ = config.gdn_layers();
    state.conv_floats_ = padded(config.conv_state_floats());
    state.state_floats_ = padded(config.gdn_state_floats());
    Result<Buffer> buffer = memory.allocate(static_cast<size_t>(bytes_of(config)), "recurrent state");
    if (!buffer) return buffer.error();
    state.memory_ = std::move(*buffer);
    state.clear();
    return state;
}

void RecurrentState::clear() {
    if (bytes() > 0) place_->clear(memory_.data(), memory_.bytes());
}

void RecurrentState::save(std::byte* copy) const {
    if (bytes() > 0) place_->download(copy, memory_.data(), memory_.bytes());
}

void RecurrentState::load(const std::byte* copy) {
    if (bytes() > 0) place_->upload(memory_.data(), copy, memory_.bytes());
}

std::vector<SequenceState::DeltaNet> RecurrentState::layers() const {
    std::vector<SequenceState::DeltaNet> layers;
    float* next = memory_.as<float>();
    for (int i = 0; i < layer_count_; ++i) {
        layers.push_back({next, next + conv_floats_});
        next += conv_floats_ + state_floats_;
    }
    return layers;
}

}  // namespace octavo
