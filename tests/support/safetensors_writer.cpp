#include "tests/support/safetensors_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <fstream>

namespace octavo::test {
namespace {

constexpr size_t kAlignment = 8;

}  // namespace

void SafetensorsWriter::add(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
                            std::span<const std::byte> data) {
    data_.resize((data_.size() + kAlignment - 1) / kAlignment * kAlignment);
    const size_t first = data_.size();
    data_.insert(data_.end(), data.begin(), data.end());
    entries_ += fmt::format("{}\"{}\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                            entries_.empty() ? "" : ",", name, dtype, fmt::join(shape, ","), first, data_.size());
    names_.push_back(name);
}

void SafetensorsWriter::floats(const std::string& name, const std::vector<int64_t>& shape,
                               std::span<const float> values) {
    add(name, "F32", shape, std::as_bytes(values));
}

std::vector<std::byte> SafetensorsWriter::finish() const {
    std::string header = "{" + entries_ + "}";
    header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
    const uint64_t length = header.size();
    std::vector<std::byte> file(sizeof length + header.size());
    std::memcpy(file.data(), &length, sizeof length);
    std::memcpy(file.data() + sizeof length, header.data(), header.size());
    file.insert(file.end(), data_.begin(), data_.end());
    return file;
}

void SafetensorsWriter::write(const std::filesystem::path& path) const {
    const std::vector<std::byte> file = finish();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
}

void write_safetensors_index(const std::filesystem::path& folder,
                             const std::vector<std::pair<std::string, const SafetensorsWriter*>>& files) {
    std::string map;
    for (const auto& [file, writer] : files) {
        for (const std::string& name : writer->names()) {
            map += fmt::format("{}\"{}\":\"{}\"", map.empty() ? "" : ",", name, file);
        }
    }
    std::ofstream(folder / "model.safetensors.index.json") << "{\"weight_map\":{" << map << "}}";
}

}  // namespace octavo::test
