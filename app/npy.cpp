#include "app/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "app/output_target.h"
#include "kernels/base/half.h"

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "the header written here says little-endian");

constexpr size_t kFixedHeaderBytes = 10;  // magic, version, length
constexpr std::string_view kMagic = "\x93NUMPY";

std::string npy_header(const std::vector<int64_t>& shape) {
    std::string sizes;
    for (const int64_t size : shape) sizes += fmt::format("{},", size);
    std::string dictionary = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes);
    while ((kFixedHeaderBytes + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
    dictionary += '\n';
    const auto length = static_cast<uint16_t>(dictionary.size());
    std::string header(kMagic);
    header += '\x01';
    header += '\x00';
    header += static_cast<char>(length & 0xff);
    header += static_cast<char>(length >> 8);
    return header + dictionary;
}

// What follows `key` in the header's dictionary, without leading blanks; empty where the key is missing.
std::string_view value_of(std::string_view header, std::string_view key) {
    const size_t at = header.find(key);
    if (at == std::string_view::npos) return {};
    std::string_view rest = header.substr(at + key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
    return rest;
}

// "(4096, 2, 256), ..." -> sizes; nothing where it is no such list or its product is beyond `most`.
std::optional<std::vector<int64_t>> parse_shape(std::string_view text, int64_t most) {
    if (!text.starts_with('(')) return std::nullopt;
    std::vector<int64_t> shape;
    int64_t product = 1;
    const char* at = text.data() + 1;
    const char* const end = text.data() + text.size();
    while (at < end && *at != ')') {
        if (*at == ' ' || *at == ',') {
            ++at;
            continue;
        }
        int64_t size = 0;
        const auto [next, error] = std::from_chars(at, end, size);
        if (error != std::errc() || size < 0 || (size > 0 && product > most / size)) return std::nullopt;
        product *= size;
        shape.push_back(size);
        at = next;
    }
    return at < end ? std::optional(shape) : std::nullopt;
}

template <class Stored, class Convert>
std::vector<float> load_values(std::string_view data, Convert convert) {
    std::vector<float> values(data.size() / sizeof(Stored));
    for (size_t i = 0; i < values.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, data.data() + i * sizeof stored, sizeof stored);
        values[i] = convert(stored);
    }
    return values;
}

Result<NpyFloats> parse_npy(std::string_view bytes, const std::string& name) {
    const auto broken = [&name](const char* what) {
        return Error{ErrorKind::input, fmt::format("{} cannot be read as a NumPy array: {}.", name, what)};
    };
    if (bytes.size() < kFixedHeaderBytes || !bytes.starts_with(kMagic)) return broken("it is no .npy file");
    if (bytes[6] != 1) return broken("only version 1 of the format is read");
    const size_t header_bytes = static_cast<uint8_t>(bytes[8]) | static_cast<size_t>(static_cast<uint8_t>(bytes[9]))
                                                                     << 8;
    if (header_bytes > bytes.size() - kFixedHeaderBytes) return broken("its header is cut off");
    const std::string_view header = bytes.substr(kFixedHeaderBytes, header_bytes);
    const std::string_view data = bytes.substr(kFixedHeaderBytes + header_bytes);
    if (!value_of(header, "'fortran_order'").starts_with("False")) return broken("its order is not that of C");
    const std::string_view type = value_of(header, "'descr'");
    const bool half = type.starts_with("'<f2'");
    if (!half && !type.starts_with("'<f4'")) return broken("its type is neither float32 nor float16, little-endian");
    const size_t value_bytes = half ? sizeof(f16_bits) : sizeof(float);

    const auto shape = parse_shape(value_of(header, "'shape'"), static_cast<int64_t>(data.size() / value_bytes));
    if (!shape) return broken("its shape is not a list of sizes, or larger than the file");
    int64_t count = 1;
    for (const int64_t size : *shape) count *= size;
    if (data.size() != static_cast<size_t>(count) * value_bytes)
        return broken("its data does not have the size of its shape");
    if (half) return NpyFloats{*shape, load_values<f16_bits>(data, f16_to_f32)};
    return NpyFloats{*shape, load_values<float>(data, [](float value) { return value; })};
}

}  // namespace

Result<NpyFloats> read_npy(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream bytes;
    if (in) bytes << in.rdbuf();
    if (!in || !bytes)
        return Error{ErrorKind::io, fmt::format("{} could not be read: check that the file is there.", path.string())};
    return parse_npy(bytes.view(), path.string());
}

Status check_npy_target(const std::filesystem::path& path) {
    return check_overwrites_only(path, kMagic, "a .npy file");
}

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
