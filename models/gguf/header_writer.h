// Writes what stands in front of the tensors' bytes in a GGUF v3 file: header, metadata, tensor records. Whoever writes
// the file puts the tensors behind it, so a file of any size can be written piece by piece.
//
// Errors: none; sense is the caller's business (tests write broken files with it). Threads: one at a time.
// Non-goal: version 3 only, little-endian only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/gguf/metadata.h"

namespace octavo {

class GgufHeaderWriter {
  public:
    void u32(std::string_view key, uint32_t value);
    void i32(std::string_view key, int32_t value);
    void u64(std::string_view key, uint64_t value);
    void f32(std::string_view key, float value);
    void boolean(std::string_view key, bool value);
    void text(std::string_view key, std::string_view value);
    void texts(std::string_view key, std::span<const std::string> values);
    void i32s(std::string_view key, std::span<const int32_t> values);
    // A key of another file, as it stands there.
    void entry(const GgufEntry& entry);
    // Any type number with the bytes that follow it.
    void raw(std::string_view key, uint32_t type, std::string_view bytes);

    // `extents` as stored: contiguous first. `offset` -1: after the previous tensor, aligned.
    void tensor(std::string_view name, std::span<const uint64_t> extents, uint32_t type, uint64_t bytes,
                int64_t offset = -1);

    struct Layout {
        std::string header;             // padded to the alignment: the data section follows
        std::vector<uint64_t> offsets;  // [tensors], from the start of the data section
        uint64_t data_bytes = 0;        // of the data section, its padding included
    };
    Layout finish(uint64_t alignment = 32) const;

  private:
    template <class T>
    void scalar(std::string_view key, GgufType type, T value);

    struct Record {
        std::string name;
        std::vector<uint64_t> extents;
        uint32_t type = 0;
        uint64_t bytes = 0;
        int64_t offset = -1;
    };
    std::string keys_;
    uint64_t key_count_ = 0;
    std::vector<Record> records_;
};

}  // namespace octavo
