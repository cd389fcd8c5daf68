// Whole GGUF v3 files in memory for tests, sound or broken as the test wants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/gguf/header_writer.h"

namespace octavo::test {

class GgufWriter : private GgufHeaderWriter {
  public:
    using GgufHeaderWriter::boolean;
    using GgufHeaderWriter::f32;
    using GgufHeaderWriter::i32;
    using GgufHeaderWriter::raw;
    using GgufHeaderWriter::text;
    using GgufHeaderWriter::u32;
    using GgufHeaderWriter::u64;
    void texts(std::string_view key, const std::vector<std::string>& values) { GgufHeaderWriter::texts(key, values); }
    void i32s(std::string_view key, const std::vector<int32_t>& values) { GgufHeaderWriter::i32s(key, values); }

    // `extents` as stored: contiguous first. An offset of -1 puts the data after the previous tensor's; any other is
    // written into the record only.
    void tensor(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type, std::string_view data,
                int64_t offset = -1);
    // F32, every value `value`.
    void floats(std::string_view name, const std::vector<uint64_t>& extents, float value = 0.25f);

    std::vector<std::byte> finish(uint64_t alignment = 32) const;

  private:
    std::vector<std::string> data_;  // [tensors]
};

}  // namespace octavo::test
