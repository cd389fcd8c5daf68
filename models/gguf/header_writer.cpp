#include "models/gguf/header_writer.h"

#include <bit>

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr uint32_t kVersion = 3;

template <class T>
void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_type(std::string& out, GgufType type) { put(out, static_cast<uint32_t>(type)); }

void put_text(std::string& out, std::string_view text) {
    put<uint64_t>(out, text.size());
    out += text;
}

uint64_t aligned(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

void GgufHeaderWriter::raw(std::string_view key, uint32_t type, std::string_view bytes) {
    put_text(keys_, key);
    put(keys_, type);
    keys_ += bytes;
    ++key_count_;
}

template <class T>
void GgufHeaderWriter::scalar(std::string_view key, GgufType type, T value) {
    std::string bytes;
    put(bytes, value);
    raw(key, static_cast<uint32_t>(type), bytes);
}

void GgufHeaderWriter::u32(std::string_view key, uint32_t value) { scalar(key, GgufType::u32, value); }
void GgufHeaderWriter::i32(std::string_view key, int32_t value) { scalar(key, GgufType::i32, value); }
void GgufHeaderWriter::u64(std::string_view key, uint64_t value) { scalar(key, GgufType::u64, value); }
void GgufHeaderWriter::f32(std::string_view key, float value) { scalar(key, GgufType::f32, value); }
void GgufHeaderWriter::boolean(std::string_view key, bool value) {
    scalar<uint8_t>(key, GgufType::boolean, value ? 1 : 0);
}

void GgufHeaderWriter::text(std::string_view key, std::string_view value) {
    std::string bytes;
    put_text(bytes, value);
    raw(key, static_cast<uint32_t>(GgufType::string), bytes);
}

void GgufHeaderWriter::texts(std::string_view key, std::span<const std::string> values) {
    std::string bytes;
    put_type(bytes, GgufType::string);
    put<uint64_t>(bytes, values.size());
    for (const std::string& value : values) put_text(bytes, value);
    raw(key, static_cast<uint32_t>(GgufType::array), bytes);
}

void GgufHeaderWriter::i32s(std::string_view key, std::span<const int32_t> values) {
    std::string bytes;
    put_type(bytes, GgufType::i32);
    put<uint64_t>(bytes, values.size());
    for (const int32_t value : values) put(bytes, value);
    raw(key, static_cast<uint32_t>(GgufType::array), bytes);
}

void GgufHeaderWriter::entry(const GgufEntry& entry) {
    std::string bytes;
    if (entry.type == GgufType::array) {
        put_type(bytes, entry.element);
        put<uint64_t>(bytes, entry.count);
    } else if (entry.type == GgufType::string) {
        put<uint64_t>(bytes, entry.payload.size());
    }
    bytes.append(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
    raw(entry.key, static_cast<uint32_t>(entry.type), bytes);
}

void GgufHeaderWriter::tensor(std::string_view name, std::span<const uint64_t> extents, uint32_t type, uint64_t bytes,
                              int64_t offset) {
    records_.push_back({std::string(name), {extents.begin(), extents.end()}, type, bytes, offset});
}

GgufHeaderWriter::Layout GgufHeaderWriter::finish(uint64_t alignment) const {
    Layout layout;
    std::string& out = layout.header;
    out = "GGUF";
    put(out, kVersion);
    put<uint64_t>(out, records_.size());
    put<uint64_t>(out, key_count_);
    out += keys_;
    for (const Record& record : records_) {
        const uint64_t offset = record.offset >= 0 ? static_cast<uint64_t>(record.offset) : layout.data_bytes;
        put_text(out, record.name);
        put(out, static_cast<uint32_t>(record.extents.size()));
        for (const uint64_t extent : record.extents) put(out, extent);
        put(out, record.type);
        put(out, offset);
        layout.offsets.push_back(offset);
        layout.data_bytes += aligned(record.bytes, alignment);
    }
    out.resize(aligned(out.size(), alignment));
    return layout;
}

}  // namespace octavo
