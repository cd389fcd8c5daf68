// FNV-1a, 64 bits: a name for data, not a protection. The same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace octavo {

class FnvHash {
  public:
    void bytes(std::span<const std::byte> data) {
        for (const std::byte byte : data) add(static_cast<uint8_t>(byte));
    }
    void number(int64_t value) {
        for (int shift = 0; shift < 64; shift += 8) add(static_cast<uint8_t>(static_cast<uint64_t>(value) >> shift));
    }
    uint64_t value() const { return value_; }

  private:
    void add(uint8_t byte) {
        value_ ^= byte;
        value_ *= 0x100000001b3;
    }
    uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace octavo
