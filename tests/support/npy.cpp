#include "tests/support/npy.h"

#include <fmt/format.h>
#include <zlib.h>
#include <cstring>
#include <optional>
#include <regex>

#include "kernels/base/half.h"
#include "tests/support/paths.h"

namespace octavo::test {
namespace {

using Bytes = std::span<const std::byte>;

Error broken(std::string_view why) { return {ErrorKind::input, fmt::format("broken NumPy file: {}", why)}; }

// Reads a little-endian number; the caller has checked that it is inside.
template <class Number>
Number number_at(Bytes bytes, size_t offset) {
    Number value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

bool has(Bytes bytes, size_t offset, size_t count) { return offset <= bytes.size() && count <= bytes.size() - offset; }

template <class Stored, class Value>
bool convert(Bytes data, size_t count, Value (*load)(Stored), std::vector<Value>& values) {
    if (data.size() != count * sizeof(Stored)) return false;
    values.resize(count);
    for (size_t i = 0; i < count; ++i) values[i] = load(number_at<Stored>(data, i * sizeof(Stored)));
    return true;
}

template <class Value>
Value same(Value value) {
    return value;
}

std::vector<int64_t> parse_shape(const std::string& text) {
    static const std::regex number("[0-9]+");
    std::vector<int64_t> shape;
    for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
        shape.push_back(std::stoll(it->str()));
    }
    return shape;
}

// A file inside a ZIP archive.
struct Member {
    std::string name;
    int method = 0;  // 0 stored, 8 deflated
    uint32_t packed_bytes = 0;
    uint32_t bytes = 0;
    uint32_t header = 0;  // offset of its local header
};

constexpr size_t kEndRecordBytes = 22;
constexpr size_t kEntryBytes = 46;
constexpr size_t kLocalHeaderBytes = 30;

std::optional<std::vector<Member>> list_members(Bytes zip) {
    if (zip.size() < kEndRecordBytes) return std::nullopt;
    size_t end = zip.size() - kEndRecordBytes;
    while (number_at<uint32_t>(zip, end) != 0x06054b50u) {
        if (end-- == 0) return std::nullopt;
    }
    const int count = number_at<uint16_t>(zip, end + 10);
    size_t at = number_at<uint32_t>(zip, end + 16);
    std::vector<Member> members;
    for (int i = 0; i < count; ++i) {
        if (!has(zip, at, kEntryBytes) || number_at<uint32_t>(zip, at) != 0x02014b50u) return std::nullopt;
        const size_t name_bytes = number_at<uint16_t>(zip, at + 28);
        if (!has(zip, at + kEntryBytes, name_bytes)) return std::nullopt;
        members.push_back({.name = {reinterpret_cast<const char*>(zip.data()) + at + kEntryBytes, name_bytes},
                           .method = number_at<uint16_t>(zip, at + 10),
                           .packed_bytes = number_at<uint32_t>(zip, at + 20),
                           .bytes = number_at<uint32_t>(zip, at + 24),
                           .header = number_at<uint32_t>(zip, at + 42)});
        at += kEntryBytes + name_bytes + number_at<uint16_t>(zip, at + 30) + number_at<uint16_t>(zip, at + 32);
    }
    return members;
}

std::optional<std::vector<std::byte>> inflate_raw(Bytes packed, size_t bytes) {
    std::vector<std::byte> out(bytes);
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (status != Z_STREAM_END || stream.total_out != bytes) return std::nullopt;
    return out;
}

std::optional<std::vector<std::byte>> unpack(Bytes zip, const Member& member) {
    if (!has(zip, member.header, kLocalHeaderBytes)) return std::nullopt;
    const size_t start = member.header + kLocalHeaderBytes + number_at<uint16_t>(zip, member.header + 26) +
                         number_at<uint16_t>(zip, member.header + 28);
    if (!has(zip, start, member.packed_bytes)) return std::nullopt;
    const Bytes packed = zip.subspan(start, member.packed_bytes);
    if (member.method == 8) return inflate_raw(packed, member.bytes);
    if (member.method == 0) return std::vector<std::byte>(packed.begin(), packed.end());
    return std::nullopt;
}

}  // namespace

Result<NpyArray> parse_npy(Bytes bytes) {
    // "\x93NUMPY", version (1 byte major, 1 minor), length of the header (2 bytes, from version 2: 4), header
    if (!has(bytes, 0, 12) || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0) return broken("no NumPy magic");
    const bool wide = std::to_integer<int>(bytes[6]) >= 2;
    const size_t header_at = wide ? 12 : 10;
    const size_t header_bytes = wide ? number_at<uint32_t>(bytes, 8) : number_at<uint16_t>(bytes, 8);
    if (!has(bytes, header_at, header_bytes)) return broken("the header is cut off");
    const std::string header(reinterpret_cast<const char*>(bytes.data()) + header_at, header_bytes);

    static const std::regex pattern(R"('descr': *'([^']*)'.*'fortran_order': *(True|False).*'shape': *\(([0-9, ]*)\))");
    std::smatch match;
    if (!std::regex_search(header, match, pattern)) return broken("unknown header: " + header);
    if (match[2] == "True") return broken("Fortran order");

    NpyArray array;
    array.shape = parse_shape(match[3]);
    size_t count = 1;
    for (const int64_t size : array.shape) count *= static_cast<size_t>(size);
    const Bytes data = bytes.subspan(header_at + header_bytes);
    const std::string type = match[1];
    bool sound = false;
    if (type == "<f4") {
        sound = convert<float>(data, count, same<float>, array.floats);
    } else if (type == "<f2") {
        sound = convert<f16_bits>(data, count, f16_to_f32, array.floats);
    } else if (type == "<i4") {
        sound = convert<int32_t>(data, count, same<int32_t>, array.ints);
    } else {
        return broken("type " + type);
    }
    if (!sound) return broken("the data does not have the size of its shape");
    return array;
}

Result<NpyArray> read_npy(const std::filesystem::path& path) {
    const Result<std::vector<std::byte>> bytes = read_file(path);
    if (!bytes) return bytes.error();
    return parse_npy(*bytes);
}

Result<std::map<std::string, NpyArray>> read_npz(const std::filesystem::path& path) {
    const Result<std::vector<std::byte>> zip = read_file(path);
    if (!zip) return zip.error();
    const std::optional<std::vector<Member>> members = list_members(*zip);
    if (!members) return broken(path.string() + " is not a ZIP archive");
    std::map<std::string, NpyArray> arrays;
    for (const Member& member : *members) {
        const std::optional<std::vector<std::byte>> bytes = unpack(*zip, member);
        if (!bytes) return broken(fmt::format("{} in {} cannot be unpacked", member.name, path.string()));
        Result<NpyArray> array = parse_npy(*bytes);
        if (!array) return array.error();
        arrays[member.name.substr(0, member.name.rfind(".npy"))] = std::move(*array);
    }
    return arrays;
}

}  // namespace octavo::test
