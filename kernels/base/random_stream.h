// Random numbers from a seed, the same on every machine: SplitMix64 (Steele, Lea, Flood 2014).
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>

namespace octavo {

class RandomStream {
  public:
    explicit RandomStream(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        return mixed ^ (mixed >> 31);
    }
    // In [0, 1), 53 bits.
    double next_unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    uint64_t state_;
};

}  // namespace octavo
