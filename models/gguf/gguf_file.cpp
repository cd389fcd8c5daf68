#include "models/gguf/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "models/gguf/tensor_type.h"
#include "models/tensors/foreign_file.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

constexpr uint32_t kVersion = 3;
// Far above any real file (under 100 keys, about 1,500 tensors); they bound the memory that a hostile one takes.
constexpr uint64_t kMaxKeys = 65536;
constexpr uint64_t kMaxTensors = 65536;
constexpr uint64_t kMaxKeyBytes = 65535;  // both limits are the format's own
constexpr uint64_t kMaxTensorNameBytes = 64;
constexpr uint32_t kMaxDims = 4;
constexpr int64_t kDefaultAlignment = 32;
constexpr int64_t kMaxAlignment = 1 << 20;

template <class... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::input, fmt::format(format, std::forward<Args>(args)...)};
}

// Walks the file once; nothing is read beyond its end.
class Cursor {
  public:
    explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

    uint64_t position() const { return position_; }
    uint64_t remaining() const { return bytes_.size() - position_; }

    template <class T>
    std::optional<T> read() {
        const auto bytes = take(sizeof(T));
        if (!bytes) return std::nullopt;
        T value;
        std::memcpy(&value, bytes->data(), sizeof value);
        return value;
    }

    std::optional<std::span<const std::byte>> take(uint64_t count) {
        if (count > remaining()) return std::nullopt;
        const auto taken = bytes_.subspan(position_, count);
        position_ += count;
        return taken;
    }

  private:
    std::span<const std::byte> bytes_;
    size_t position_ = 0;
};

bool is_key_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
}

bool printable_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

struct Counts {
    uint64_t tensors = 0;
    uint64_t keys = 0;
};

Result<Counts> read_counts(Cursor& cursor, std::span<const std::byte> file) {
    const auto magic = cursor.take(4);
    if (!magic) return bad("the file ends inside the magic number; it is empty or cut off");
    if (std::memcmp(magic->data(), "GGUF", 4) != 0) {
        const std::string_view kind = foreign_file(file);
        return kind.empty() ? bad("the magic number is not GGUF; this is no GGUF file") : bad("it is {}", kind);
    }
    const auto version = cursor.read<uint32_t>();
    if (!version) return bad("the file ends inside the version number");
    if (*version != kVersion) {
        return bad("GGUF version {} is not supported; expected version {}; convert the model again", *version,
                   kVersion);
    }
    const auto tensors = cursor.read<uint64_t>();
    if (!tensors) return bad("the file ends inside the tensor count (tensor_count)");
    if (*tensors > kMaxTensors) return bad("tensor_count is {}; at most {} are accepted", *tensors, kMaxTensors);
    const auto keys = cursor.read<uint64_t>();
    if (!keys) return bad("the file ends inside the key count (kv_count)");
    if (*keys > kMaxKeys) return bad("kv_count is {}; at most {} are accepted", *keys, kMaxKeys);
    return Counts{*tensors, *keys};
}

std::optional<std::string_view> read_string(Cursor& cursor, uint64_t limit) {
    const auto length = cursor.read<uint64_t>();
    if (!length || *length > limit) return std::nullopt;
    const auto bytes = cursor.take(*length);
    if (!bytes) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Result<GgufType> read_type(Cursor& cursor, std::string_view key) {
    const auto type = cursor.read<uint32_t>();
    if (!type) return bad("the file ends inside the type of key {}", quote_name(key));
    if (*type > static_cast<uint32_t>(GgufType::f64)) {
        return bad("key {} has value type {}, which does not exist", quote_name(key), *type);
    }
    return static_cast<GgufType>(*type);
}

Error ends_inside(std::string_view key) {
    return bad("the value of key {} goes beyond the end of the file; the file is cut off or broken", quote_name(key));
}

// Leaves `entry.payload` on the elements, whose strings have been walked once so that readers may trust them.
Status read_array(Cursor& cursor, std::span<const std::byte> bytes, GgufEntry& entry) {
    const Result<GgufType> element = read_type(cursor, entry.key);
    if (!element) return element.error();
    if (*element == GgufType::array)
        return bad("key {} is an array of arrays; no model needs one", quote_name(entry.key));
    entry.element = *element;
    const auto count = cursor.read<uint64_t>();
    if (!count) return ends_inside(entry.key);
    entry.count = *count;
    const uint64_t least = std::max<uint64_t>(gguf_scalar_bytes(*element), 1);  // strings: more, found by walking
    if (*count > cursor.remaining() / least) return ends_inside(entry.key);
    const uint64_t start = cursor.position();
    if (*element == GgufType::string) {
        for (uint64_t i = 0; i < *count; ++i) {
            if (!read_string(cursor, cursor.remaining())) return ends_inside(entry.key);
        }
    } else if (!cursor.take(*count * least)) {
        return ends_inside(entry.key);
    }
    entry.payload = bytes.subspan(start, cursor.position() - start);
    return {};
}

// Where a length is broken, the text behind it mostly is not; keys are words with dots.
std::string likely_name(std::span<const std::byte> string) {
    constexpr size_t kLengthBytes = sizeof(uint64_t);
    if (string.size() <= kLengthBytes) return {};
    const std::string_view text(reinterpret_cast<const char*>(string.data()), string.size());
    size_t end = kLengthBytes;
    while (end < text.size() && is_key_character(text[end])) ++end;
    return end == kLengthBytes
               ? std::string()
               : fmt::format("; it seems to be {}", quote_name(text.substr(kLengthBytes, end - kLengthBytes)));
}

Result<GgufEntry> read_entry(Cursor& cursor, std::span<const std::byte> bytes, uint64_t number, uint64_t count,
                             std::string_view previous) {
    const std::string place = previous.empty() ? std::string() : fmt::format(" (it follows {})", quote_name(previous));
    const uint64_t start = cursor.position();
    const auto key = read_string(cursor, kMaxKeyBytes);
    if (!key) {
        return bad("key {} of {}{} is longer than the file or than any key may be{}", number, count, place,
                   likely_name(bytes.subspan(start)));
    }
    if (key->empty()) return bad("key {} of {}{} has no name (empty key)", number, count, place);
    if (!printable_ascii(*key)) return bad("key {} is not plain ASCII text", quote_name(*key));

    GgufEntry entry;
    entry.key = *key;
    const Result<GgufType> type = read_type(cursor, entry.key);
    if (!type) return type.error();
    entry.type = *type;
    if (entry.type == GgufType::array) {
        if (Status status = read_array(cursor, bytes, entry); !status) return status.error();
    } else if (entry.type == GgufType::string) {
        const auto text = read_string(cursor, cursor.remaining());
        if (!text) return ends_inside(entry.key);
        entry.payload = std::as_bytes(std::span(text->data(), text->size()));
    } else {
        const auto scalar = cursor.take(gguf_scalar_bytes(entry.type));
        if (!scalar) return ends_inside(entry.key);
        entry.payload = *scalar;
    }
    return entry;
}

Result<GgufMetadata> read_metadata(Cursor& cursor, std::span<const std::byte> bytes, uint64_t count) {
    std::vector<GgufEntry> entries;
    for (uint64_t i = 0; i < count; ++i) {
        Result<GgufEntry> entry =
            read_entry(cursor, bytes, i + 1, count, entries.empty() ? std::string_view() : entries.back().key);
        if (!entry) return entry.error();
        entries.push_back(*entry);
    }
    std::vector<std::string_view> keys;
    keys.reserve(entries.size());
    for (const GgufEntry& entry : entries) keys.push_back(entry.key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) return bad("key {} occurs twice", quote_name(*twice));
    return GgufMetadata(std::move(entries));
}

// Bytes of a tensor, or an error: the product of the extents must fit in int64 and rows be whole blocks.
Result<uint64_t> tensor_bytes(std::string_view name, std::span<const uint64_t> extents, const GgufBlock& block,
                              std::string_view type_name) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 8;  // 8: the widest value, in bytes
    uint64_t elements = 1;
    for (const uint64_t extent : extents) {
        if (extent == 0) return bad("tensor {} has a dimension of 0", quote_name(name));
        if (extent > kMost / elements) return bad("tensor {} claims more values than memory has", quote_name(name));
        elements *= extent;
    }
    if (extents[0] % static_cast<uint64_t>(block.values) != 0) {
        return bad("tensor {} has rows of {} values, not a multiple of the {} values of a {} block", quote_name(name),
                   extents[0], block.values, type_name);
    }
    return elements / static_cast<uint64_t>(block.values) * static_cast<uint64_t>(block.bytes);
}

// A wrong key count shows up in the first tensor record, a wrong tensor count in the last.
std::string suspect(uint64_t number, uint64_t count) {
    if (number == 1) return "; or kv_count is wrong";
    if (number == count) return "; or tensor_count is wrong";
    return "";
}

Result<GgufRecord> read_record(Cursor& cursor, uint64_t number, uint64_t count) {
    const std::string hint = suspect(number, count);
    const auto name = read_string(cursor, kMaxTensorNameBytes);
    if (!name) {
        return bad("the name of tensor {} of {} goes beyond the file or is longer than {} bytes{}", number, count,
                   kMaxTensorNameBytes, hint);
    }
    if (name->empty()) return bad("tensor {} of {} has no name (empty name){}", number, count, hint);
    if (!printable_ascii(*name)) return bad("tensor name {} is not plain ASCII text{}", quote_name(*name), hint);
    const auto dims = cursor.read<uint32_t>();
    if (!dims) return bad("the file ends inside the record of tensor {}", quote_name(*name));
    if (*dims < 1 || *dims > kMaxDims) {
        return bad("tensor {} has {} dimensions; expected 1 to {}{}", quote_name(*name), *dims, kMaxDims, hint);
    }
    uint64_t extents[kMaxDims] = {};  // contiguous first, as stored
    for (uint32_t d = 0; d < *dims; ++d) {
        const auto extent = cursor.read<uint64_t>();
        if (!extent) return bad("the file ends inside the record of tensor {}", quote_name(*name));
        extents[d] = *extent;
    }
    const auto type = cursor.read<uint32_t>();
    const auto offset = cursor.read<uint64_t>();
    if (!type || !offset) return bad("the file ends inside the record of tensor {}", quote_name(*name));
    const GgufBlock* block = find_gguf_block(*type);
    if (!block) return bad("tensor {} has type number {}, which this build does not know", quote_name(*name), *type);

    GgufRecord record;
    record.tensor.name = *name;
    record.tensor.type_name = weight_type_name(*type);
    record.tensor.weight = find_weight_type(*type);
    const Result<uint64_t> bytes = tensor_bytes(*name, {extents, *dims}, *block, record.tensor.type_name);
    if (!bytes) return bytes.error();
    record.bytes = *bytes;
    record.offset = *offset;
    for (uint32_t d = *dims; d-- > 0;) record.tensor.shape.push_back(static_cast<int64_t>(extents[d]));
    return record;
}

Result<uint64_t> read_alignment(const GgufMetadata& metadata) {
    constexpr std::string_view kKey = "general.alignment";
    const auto found = metadata.integer(kKey);
    if (!found) return found.error();
    const int64_t alignment = found->value_or(kDefaultAlignment);
    const bool power_of_two = alignment > 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment < 8 || alignment > kMaxAlignment) {
        return bad("key '{}' is {}; expected a power of two from 8 to {}", kKey, alignment, kMaxAlignment);
    }
    return static_cast<uint64_t>(alignment);
}

Status place_tensors(std::vector<GgufRecord>& records, std::span<const std::byte> data, uint64_t alignment) {
    for (GgufRecord& record : records) {
        const std::string name = quote_name(record.tensor.name);
        if (record.offset % alignment != 0) {
            return bad("tensor {} has offset {}, not a multiple of the alignment {}", name, record.offset, alignment);
        }
        if (record.offset > data.size() || record.bytes > data.size() - record.offset) {
            return bad(
                "tensor {} ({} bytes at offset {}) goes beyond the end of the file; the file is cut off or "
                "broken",
                name, record.bytes, record.offset);
        }
        record.tensor.data = data.subspan(record.offset, record.bytes);
    }
    std::vector<size_t> order(records.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(records[a].offset, a) < std::pair(records[b].offset, b); });
    for (size_t i = 1; i < order.size(); ++i) {
        const GgufRecord& before = records[order[i - 1]];
        const GgufRecord& after = records[order[i]];
        if (after.offset < before.offset + before.bytes) {
            return bad("tensor {} overlaps tensor {}", quote_name(after.tensor.name), quote_name(before.tensor.name));
        }
    }
    return {};
}

Status check_unique(const std::vector<GgufRecord>& records) {
    std::vector<std::string_view> names;
    names.reserve(records.size());
    for (const GgufRecord& record : records) names.push_back(record.tensor.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return bad("tensor {} occurs twice", quote_name(*twice));
    return {};
}

}  // namespace

uint64_t GgufHeader::file_bytes() const {
    uint64_t end = data_start;
    for (const GgufRecord& record : records) {
        const uint64_t room = std::numeric_limits<uint64_t>::max() - data_start;
        if (record.offset > room || record.bytes > room - record.offset) return std::numeric_limits<uint64_t>::max();
        end = std::max(end, data_start + record.offset + record.bytes);
    }
    return end;
}

Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes) {
    Cursor cursor(bytes);
    const Result<Counts> counts = read_counts(cursor, bytes);
    if (!counts) return counts.error();
    Result<GgufMetadata> metadata = read_metadata(cursor, bytes, counts->keys);
    if (!metadata) return metadata.error();
    const Result<uint64_t> alignment = read_alignment(*metadata);
    if (!alignment) return alignment.error();

    GgufHeader header;
    header.metadata = std::move(*metadata);
    header.alignment = *alignment;
    for (uint64_t i = 0; i < counts->tensors; ++i) {
        Result<GgufRecord> record = read_record(cursor, i + 1, counts->tensors);
        if (!record) return record.error();
        header.records.push_back(std::move(*record));
    }
    if (Status status = check_unique(header.records); !status) return status.error();
    header.data_start = (cursor.position() + *alignment - 1) / *alignment * *alignment;
    return header;
}

Result<GgufFile> parse_gguf(std::span<const std::byte> bytes) {
    Result<GgufHeader> header = parse_gguf_header(bytes);
    if (!header) return header.error();
    const auto data = bytes.subspan(std::min<uint64_t>(header->data_start, bytes.size()));
    if (Status status = place_tensors(header->records, data, header->alignment); !status) return status.error();

    GgufFile file;
    file.metadata = std::move(header->metadata);
    for (GgufRecord& record : header->records) file.tensors.push_back(std::move(record.tensor));
    return file;
}

}  // namespace octavo
