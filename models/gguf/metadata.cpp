#include "models/gguf/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

struct TypeInfo {
    std::string_view name;
    size_t bytes;
};

// By type number.
constexpr TypeInfo kTypes[] = {{"U8", 1},   {"I8", 1},     {"U16", 2},   {"I16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},
                               {"bool", 1}, {"string", 0}, {"array", 0}, {"U64", 8}, {"I64", 8}, {"F64", 8}};

template <class T>
T load(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

// No value where the type is not an integer, or a U64 beyond what I64 holds.
std::optional<int64_t> load_integer(GgufType type, const std::byte* bytes) {
    switch (type) {
        case GgufType::u8: return load<uint8_t>(bytes);
        case GgufType::i8: return load<int8_t>(bytes);
        case GgufType::u16: return load<uint16_t>(bytes);
        case GgufType::i16: return load<int16_t>(bytes);
        case GgufType::u32: return load<uint32_t>(bytes);
        case GgufType::i32: return load<int32_t>(bytes);
        case GgufType::i64: return load<int64_t>(bytes);
        case GgufType::u64: {
            const uint64_t value = load<uint64_t>(bytes);
            if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
            return static_cast<int64_t>(value);
        }
        default: return std::nullopt;
    }
}

std::optional<double> load_real(GgufType type, const std::byte* bytes) {
    if (type == GgufType::f32) return load<float>(bytes);
    if (type == GgufType::f64) return load<double>(bytes);
    return std::nullopt;
}

std::string_view characters(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string type_text(const GgufEntry& entry) {
    if (entry.type != GgufType::array) return std::string(gguf_type_name(entry.type));
    return fmt::format("array of {} {}", entry.count, gguf_type_name(entry.element));
}

Error wrong_type(const GgufEntry& entry, std::string_view expected) {
    return {ErrorKind::input,
            fmt::format("key {} is of type {}; expected {}", quote_name(entry.key), type_text(entry), expected)};
}

// Decodes every element of an array of scalars; `load_element` gives an empty optional for a type it does not take.
template <class T, class LoadElement>
Result<std::optional<std::vector<T>>> array_of(const GgufEntry* entry, uint64_t limit, std::string_view expected,
                                               LoadElement load_element) {
    if (!entry) return std::optional<std::vector<T>>();
    if (entry->type != GgufType::array) return wrong_type(*entry, expected);
    if (entry->count > limit) {
        return Error{ErrorKind::input, fmt::format("key {} is an array of {}; at most {} are sensible",
                                                   quote_name(entry->key), entry->count, limit)};
    }
    const size_t bytes = gguf_scalar_bytes(entry->element);
    std::vector<T> values;
    values.reserve(entry->count);
    for (size_t i = 0; i < entry->count; ++i) {
        const auto value = load_element(entry->element, entry->payload.data() + i * bytes);
        if (!value) return wrong_type(*entry, expected);
        values.push_back(static_cast<T>(*value));
    }
    return std::optional(std::move(values));
}

}  // namespace

std::string_view gguf_type_name(GgufType type) { return kTypes[static_cast<size_t>(type)].name; }
size_t gguf_scalar_bytes(GgufType type) { return kTypes[static_cast<size_t>(type)].bytes; }

Error missing_key(std::string_view key) {
    return {ErrorKind::input, fmt::format("key {} is missing; the file is incomplete", quote_name(key))};
}

const GgufEntry* GgufMetadata::find(std::string_view key) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.key == key; });
    return found == entries_.end() ? nullptr : &*found;
}

GgufMetadata::Optional<int64_t> GgufMetadata::integer(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (!entry) return std::optional<int64_t>();
    const auto value = load_integer(entry->type, entry->payload.data());
    if (!value) return wrong_type(*entry, "an integer");
    return value;
}

GgufMetadata::Optional<double> GgufMetadata::real(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (!entry) return std::optional<double>();
    const auto value = load_real(entry->type, entry->payload.data());
    if (!value) return wrong_type(*entry, "a floating-point number");
    return value;
}

GgufMetadata::Optional<bool> GgufMetadata::boolean(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (!entry) return std::optional<bool>();
    if (entry->type != GgufType::boolean) return wrong_type(*entry, "true or false");
    return std::optional(load<uint8_t>(entry->payload.data()) != 0);
}

GgufMetadata::Optional<std::string_view> GgufMetadata::text(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (!entry) return std::optional<std::string_view>();
    if (entry->type != GgufType::string) return wrong_type(*entry, "text");
    return std::optional(characters(entry->payload));
}

GgufMetadata::Optional<std::vector<int64_t>> GgufMetadata::integers(std::string_view key, uint64_t limit) const {
    return array_of<int64_t>(find(key), limit, "an array of integers", load_integer);
}

GgufMetadata::Optional<std::vector<float>> GgufMetadata::reals(std::string_view key, uint64_t limit) const {
    return array_of<float>(find(key), limit, "an array of floating-point numbers", load_real);
}

GgufMetadata::Optional<std::vector<bool>> GgufMetadata::booleans(std::string_view key, uint64_t limit) const {
    return array_of<bool>(find(key), limit, "an array of true or false",
                          [](GgufType type, const std::byte* bytes) -> std::optional<bool> {
                              if (type != GgufType::boolean) return std::nullopt;
                              return load<uint8_t>(bytes) != 0;
                          });
}

GgufMetadata::Optional<std::vector<std::string_view>> GgufMetadata::texts(std::string_view key, uint64_t limit) const {
    const GgufEntry* entry = find(key);
    size_t offset = 0;  // strings differ in length: walk along
    if (entry && entry->type == GgufType::array && entry->element != GgufType::string) {
        return wrong_type(*entry, "an array of text");
    }
    return array_of<std::string_view>(
        entry, limit, "an array of text", [&](GgufType, const std::byte*) -> std::optional<std::string_view> {
            const auto length = static_cast<size_t>(load<uint64_t>(entry->payload.data() + offset));
            const auto text = characters(entry->payload.subspan(offset + sizeof(uint64_t), length));
            offset += sizeof(uint64_t) + length;
            return text;
        });
}

std::string value_text(const GgufEntry& entry) {
    if (entry.type == GgufType::array) return type_text(entry);
    if (entry.type == GgufType::string) return quote_name(characters(entry.payload));
    if (entry.type == GgufType::boolean) return load<uint8_t>(entry.payload.data()) ? "true" : "false";
    if (const auto integer = load_integer(entry.type, entry.payload.data())) return std::to_string(*integer);
    if (const auto real = load_real(entry.type, entry.payload.data())) return fmt::format("{:g}", *real);
    return std::to_string(load<uint64_t>(entry.payload.data()));
}

}  // namespace octavo
