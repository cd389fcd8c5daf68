#include "app/npy.h"

#include <fmt/format.h>

#include <bit>
#include <fstream>

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "the header written here says little-endian");

std::string npy_header(const std::vector<int64_t>& shape) {
    std::string sizes;
    for (const int64_t size : shape) sizes += fmt::format("{},", size);
    std::string dictionary = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes);
    constexpr size_t kPrefixBytes = 10;  // magic, version, length
    while ((kPrefixBytes + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
    dictionary += '\n';
    const auto length = static_cast<uint16_t>(dictionary.size());
    std::string header = "\x93NUMPY";
    header += '\x01';
    header += '\x00';
    header += static_cast<char>(length & 0xff);
    header += static_cast<char>(length >> 8);
    return header + dictionary;
}

}  // namespace

Status write_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape, std::span<const float> values) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    const std::string header = npy_header(shape);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    out.flush();
    if (!out)
        return Error{ErrorKind::io,
                     fmt::format("{} could not be written: check the folder and free space.", path.string())};
    return {};
}

}  // namespace octavo
