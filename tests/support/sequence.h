// The memory of one sequence for tests that drive a Forward by hand: raw KV pools and recurrent state, zeroed.
#pragma once

#include <deque>
#include <vector>

#include "models/hybrid/forward.h"

namespace octavo::test {

class TestSequence {
  public:
    TestSequence(const HybridConfig& config, KvFormat format, int64_t cells);
    const SequenceState& state() const { return state_; }

  private:
    std::byte* zeroed(size_t bytes);

    std::deque<std::vector<std::byte>> memory_;
    SequenceState state_;
};

}  // namespace octavo::test
