// The memory of one sequence for tests that drive a Forward by hand: raw KV pools and recurrent state, zeroed, in the
// back end's memory.
#pragma once

#include <deque>

#include "models/hybrid/forward.h"

namespace octavo::test {

class TestSequence {
  public:
    TestSequence(const HybridConfig& config, KvFormat format, int64_t cells, Memory& memory);
    const SequenceState& state() const { return state_; }

  private:
    std::byte* zeroed(size_t bytes);

    Memory* memory_;
    std::deque<Buffer> buffers_;
    SequenceState state_;
};

}  // namespace octavo::test
