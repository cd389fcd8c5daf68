// Choices from a seed, the same on every machine: integer arithmetic on SplitMix64 only.
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "runtime/sampler.h"

namespace octavo {

class SeededChoice {
  public:
    explicit SeededChoice(uint64_t seed) : random_(seed) {}

    int64_t below(int64_t count) { return static_cast<int64_t>(random_.next() % static_cast<uint64_t>(count)); }
    template <class Values>
    const auto& pick(const Values& values) {
        return values[static_cast<size_t>(below(std::ssize(values)))];
    }
    template <class Value>
    void shuffle(std::vector<Value>& values) {
        for (size_t i = values.size(); i > 1; --i)
            std::swap(values[i - 1], values[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }

  private:
    RandomStream random_;
};

}  // namespace octavo
