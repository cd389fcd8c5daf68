// Writes safetensors files for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace octavo::test {

class SafetensorsWriter {
  public:
    void add(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
             std::span<const std::byte> data);
    // F32
    void floats(const std::string& name, const std::vector<int64_t>& shape, std::span<const float> values);
    std::vector<std::byte> finish() const;
    void write(const std::filesystem::path& path) const;
    const std::vector<std::string>& names() const { return names_; }

  private:
    std::vector<std::string> names_;
    std::string entries_;  // of the header's JSON
    std::vector<std::byte> data_;
};

// model.safetensors.index.json of a folder whose files hold these tensors.
void write_safetensors_index(const std::filesystem::path& folder,
                             const std::vector<std::pair<std::string, const SafetensorsWriter*>>& files);

}  // namespace octavo::test
