// Writes GGUF v3 files for tests, piece by piece, sound or broken as the test wants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::test {

class GgufWriter {
  public:
    void u32(std::string_view key, uint32_t value);
    void i32(std::string_view key, int32_t value);
    void u64(std::string_view key, uint64_t value);
    void f32(std::string_view key, float value);
    void boolean(std::string_view key, bool value);
    void text(std::string_view key, std::string_view value);
    void texts(std::string_view key, const std::vector<std::string>& values);
    void i32s(std::string_view key, const std::vector<int32_t>& values);
    // Any type number with raw bytes.
    void raw(std::string_view key, uint32_t type, std::string_view bytes);

    // `extents` as stored: contiguous first. An offset of -1 puts the data after the previous tensor's.
    void tensor(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type, std::string_view data,
                int64_t offset = -1);
    // F32, every value `value`.
    void floats(std::string_view name, const std::vector<uint64_t>& extents, float value = 0.25f);

    std::vector<std::byte> finish(uint64_t alignment = 32) const;

  private:
    template <class T>
    void scalar(std::string_view key, uint32_t type, T value);

    struct Tensor {
        std::string name;
        std::vector<uint64_t> extents;
        uint32_t type;
        std::string data;
        int64_t offset;
    };
    std::string keys_;
    uint64_t key_count_ = 0;
    std::vector<Tensor> tensors_;
};

}  // namespace octavo::test
