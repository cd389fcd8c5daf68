// What the Gated DeltaNet layers of one conversation remember: a convolution state and a delta-rule state per layer,
// of fixed size whatever the length. It cannot be rewound, only replaced by a copy made earlier (checkpoint.h).
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/memory.h"
#include "models/hybrid/config.h"
#include "models/hybrid/forward.h"

namespace octavo {

class RecurrentState {
  public:
    // The state before the first token: all zero. `memory` outlives it.
    static Result<RecurrentState> create(const HybridConfig& config, Memory& memory);

    static int64_t bytes_of(const HybridConfig& config);

    int64_t bytes() const { return static_cast<int64_t>(memory_.bytes()); }
    void clear();
    // `copy` has bytes() bytes, in the computer's own memory.
    void save(std::byte* copy) const;
    void load(const std::byte* copy);

    // One entry per Gated DeltaNet layer; valid as long as this object.
    std::vector<SequenceState::DeltaNet> layers() const;

  private:
    RecurrentState() = default;

    int layer_count_ = 0;
    int64_t conv_floats_ = 0;   // of one layer, padded to a cache line
    int64_t state_floats_ = 0;  // of one layer, padded to a cache line
    Memory* place_ = nullptr;
    Buffer memory_;  // [layers][conv_floats + state_floats]
};

}  // namespace octavo
