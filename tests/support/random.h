// Random numbers for tests: the same on every machine and standard library, from a seed.
#pragma once

#include <cstdint>

namespace octavo::test {

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {  // SplitMix64
        uint64_t x = state_ += 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    // [0, 1), 24 random bits
    float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }
    float uniform(float low, float high) { return low + (high - low) * uniform(); }
    // [0, count)
    int64_t below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }
    // Mean 0, deviation 1: twelve uniform numbers added up, which needs no library function. Never beyond 6.
    float gaussian() {
        float sum = -6;
        for (int i = 0; i < 12; ++i) sum += uniform();
        return sum;
    }

  private:
    uint64_t state_;
};

}  // namespace octavo::test
