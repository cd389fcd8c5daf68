// The key-value part of a GGUF file. Values stay where they lie in the file and are decoded when asked for, so a file
// cannot make the reader allocate more than it really holds.
//
// Accessors: absent keys give an empty optional; a value of another type gives a sentence with the key, what it is and
// what was expected. Integers of any width and sign are one family, as are F32 and F64.
// Threads: immutable, shared freely; the file's bytes must outlive it.
// Non-goal: arrays of arrays (no model file uses them; the parser refuses them by key).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace octavo {

// Type numbers as they stand in the file.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

std::string_view gguf_type_name(GgufType type);  // "U32", "array"
size_t gguf_scalar_bytes(GgufType type);         // 0 for strings and arrays

struct GgufEntry {
    std::string_view key;
    GgufType type = GgufType::u8;
    GgufType element = GgufType::u8;     // arrays: type of the elements
    uint64_t count = 1;                  // arrays: number of elements
    std::span<const std::byte> payload;  // scalar, characters of a string, or an array's elements as stored
};

class GgufMetadata {
  public:
    template <class T>
    using Optional = Result<std::optional<T>>;

    GgufMetadata() = default;
    explicit GgufMetadata(std::vector<GgufEntry> entries) : entries_(std::move(entries)) {}

    std::span<const GgufEntry> entries() const { return entries_; }
    const GgufEntry* find(std::string_view key) const;

    Optional<int64_t> integer(std::string_view key) const;
    Optional<double> real(std::string_view key) const;
    Optional<bool> boolean(std::string_view key) const;
    Optional<std::string_view> text(std::string_view key) const;
    // Arrays longer than `limit` are refused before anything is allocated.
    Optional<std::vector<int64_t>> integers(std::string_view key, uint64_t limit) const;
    Optional<std::vector<float>> reals(std::string_view key, uint64_t limit) const;
    Optional<std::vector<bool>> booleans(std::string_view key, uint64_t limit) const;
    Optional<std::vector<std::string_view>> texts(std::string_view key, uint64_t limit) const;

  private:
    std::vector<GgufEntry> entries_;
};

Error missing_key(std::string_view key);
// The value for people: short arrays whole, long ones by length; text in quotes.
std::string value_text(const GgufEntry& entry);

}  // namespace octavo
