#include "tests/support/gguf_writer.h"

#include <cstring>

namespace octavo::test {
namespace {

template <class T>
void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& out, std::string_view text) {
    put<uint64_t>(out, text.size());
    out += text;
}

void pad(std::string& out, uint64_t alignment) { out.resize((out.size() + alignment - 1) / alignment * alignment); }

}  // namespace

void GgufWriter::raw(std::string_view key, uint32_t type, std::string_view bytes) {
    put_text(keys_, key);
    put(keys_, type);
    keys_ += bytes;
    ++key_count_;
}

template <class T>
void GgufWriter::scalar(std::string_view key, uint32_t type, T value) {
    std::string bytes;
    put(bytes, value);
    raw(key, type, bytes);
}

void GgufWriter::u32(std::string_view key, uint32_t value) { scalar(key, 4, value); }
void GgufWriter::i32(std::string_view key, int32_t value) { scalar(key, 5, value); }
void GgufWriter::u64(std::string_view key, uint64_t value) { scalar(key, 10, value); }
void GgufWriter::f32(std::string_view key, float value) { scalar(key, 6, value); }
void GgufWriter::boolean(std::string_view key, bool value) { scalar<uint8_t>(key, 7, value ? 1 : 0); }

void GgufWriter::text(std::string_view key, std::string_view value) {
    std::string bytes;
    put_text(bytes, value);
    raw(key, 8, bytes);
}

void GgufWriter::texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes;
    put<uint32_t>(bytes, 8);
    put<uint64_t>(bytes, values.size());
    for (const std::string& value : values) put_text(bytes, value);
    raw(key, 9, bytes);
}

void GgufWriter::i32s(std::string_view key, const std::vector<int32_t>& values) {
    std::string bytes;
    put<uint32_t>(bytes, 5);
    put<uint64_t>(bytes, values.size());
    for (const int32_t value : values) put(bytes, value);
    raw(key, 9, bytes);
}

void GgufWriter::tensor(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type,
                        std::string_view data, int64_t offset) {
    tensors_.push_back({std::string(name), extents, type, std::string(data), offset});
}

void GgufWriter::floats(std::string_view name, const std::vector<uint64_t>& extents, float value) {
    uint64_t count = 1;
    for (const uint64_t extent : extents) count *= extent;
    std::string data;
    for (uint64_t i = 0; i < count; ++i) put(data, value);
    tensor(name, extents, 0, data);
}

std::vector<std::byte> GgufWriter::finish(uint64_t alignment) const {
    std::string out = "GGUF";
    put<uint32_t>(out, 3);
    put<uint64_t>(out, tensors_.size());
    put<uint64_t>(out, key_count_);
    out += keys_;
    std::string data;
    for (const Tensor& tensor : tensors_) {
        put_text(out, tensor.name);
        put<uint32_t>(out, static_cast<uint32_t>(tensor.extents.size()));
        for (const uint64_t extent : tensor.extents) put(out, extent);
        put(out, tensor.type);
        put<uint64_t>(out, tensor.offset >= 0 ? static_cast<uint64_t>(tensor.offset) : data.size());
        data += tensor.data;
        pad(data, alignment);
    }
    pad(out, alignment);
    out += data;
    std::vector<std::byte> bytes(out.size());
    std::memcpy(bytes.data(), out.data(), out.size());
    return bytes;
}

}  // namespace octavo::test
