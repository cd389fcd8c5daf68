#include "tests/support/gguf_writer.h"

#include <cstring>

namespace octavo::test {

void GgufWriter::tensor(std::string_view name, const std::vector<uint64_t>& extents, uint32_t type,
                        std::string_view data, int64_t offset) {
    GgufHeaderWriter::tensor(name, extents, type, data.size(), offset);
    data_.emplace_back(data);
}

void GgufWriter::floats(std::string_view name, const std::vector<uint64_t>& extents, float value) {
    uint64_t count = 1;
    for (const uint64_t extent : extents) count *= extent;
    std::string data(count * sizeof value, '\0');
    for (uint64_t i = 0; i < count; ++i) std::memcpy(data.data() + i * sizeof value, &value, sizeof value);
    tensor(name, extents, 0, data);
}

std::vector<std::byte> GgufWriter::finish(uint64_t alignment) const {
    std::string out = GgufHeaderWriter::finish(alignment).header;
    for (const std::string& data : data_) {
        out += data;
        out.resize((out.size() + alignment - 1) / alignment * alignment);
    }
    std::vector<std::byte> bytes(out.size());
    std::memcpy(bytes.data(), out.data(), out.size());
    return bytes;
}

}  // namespace octavo::test
