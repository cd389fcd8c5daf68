#include "models/tokenizer/sentencepiece_proto.h"

#include <fmt/format.h>
#include <bit>
#include <cstring>
#include <optional>

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "protobuf's fixed32 is little-endian");

enum Wire : uint32_t { wire_varint = 0, wire_fixed64 = 1, wire_bytes = 2, wire_fixed32 = 5 };
namespace field {
enum Model : uint32_t { pieces = 1, trainer_spec = 2, normalizer_spec = 3 };
enum Piece : uint32_t { piece = 1, score = 2, type = 3 };
enum Trainer : uint32_t {
    model_type = 3,
    vocab_size = 4,
    whitespace_suffix = 24,
    byte_fallback = 35,
    unk_id = 40,
    bos_id = 41,
    eos_id = 42,
    pad_id = 43
};
enum Normalizer : uint32_t { name = 1, charsmap = 2, dummy_prefix = 3, remove_whitespaces = 4, escape_whitespaces = 5 };
}  // namespace field
constexpr uint64_t model_type_bpe = 2;

// ---- reading

struct Field {
    uint32_t number = 0;
    Wire wire = wire_varint;
    uint64_t value = 0;      // varint and fixed
    std::string_view bytes;  // wire_bytes
};

// Walks the fields of one message. next() ends with nullopt; then broken() tells whether the bytes were sound.
class Fields {
  public:
    explicit Fields(std::string_view message) : rest_(message) {}
    bool broken() const { return broken_; }

    std::optional<Field> next() {
        if (rest_.empty() || broken_) return std::nullopt;
        std::optional<Field> field = read();
        broken_ = !field;
        return field;
    }

  private:
    std::optional<Field> read() {
        const std::optional<uint64_t> key = varint();
        if (!key || *key > UINT32_MAX || *key < 8) return std::nullopt;
        Field field{static_cast<uint32_t>(*key >> 3), static_cast<Wire>(*key & 7), 0, {}};
        std::optional<uint64_t> value;
        switch (field.wire) {
            case wire_varint: value = varint(); break;
            case wire_fixed64: value = fixed(8); break;
            case wire_fixed32: value = fixed(4); break;
            case wire_bytes:
                value = varint();
                if (!value || *value > rest_.size()) return std::nullopt;
                field.bytes = rest_.substr(0, *value);
                rest_.remove_prefix(*value);
                break;
            default: return std::nullopt;
        }
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
    }

    std::optional<uint64_t> varint() {
        uint64_t value = 0;
        for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_[0]);
            rest_.remove_prefix(1);
            value |= static_cast<uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        return std::nullopt;
    }

    std::optional<uint64_t> fixed(std::size_t size) {
        if (rest_.size() < size) return std::nullopt;
        uint64_t value = 0;
        std::memcpy(&value, rest_.data(), size);
        rest_.remove_prefix(size);
        return value;
    }

    std::string_view rest_;
    bool broken_ = false;
};

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

Status read_piece(std::string_view message, SentencePieceModel& model) {
    std::string_view token;
    float score = 0;
    auto type = static_cast<int32_t>(PieceType::normal);
    Fields fields(message);
    while (const std::optional<Field> it = fields.next()) {
        if (it->number == field::piece && it->wire == wire_bytes) token = it->bytes;
        if (it->number == field::score && it->wire == wire_fixed32)
            score = std::bit_cast<float>(static_cast<uint32_t>(it->value));
        // A number that does not fit becomes one that the later check of types refuses.
        if (it->number == field::type && it->wire == wire_varint)
            type = it->value > INT32_MAX ? -1 : static_cast<int32_t>(it->value);
    }
    if (fields.broken())
        return input_error(
            fmt::format("tokenizer.model is damaged: token {} cannot be read. Fetch it again.", model.tokens.size()));
    model.tokens.push_back(token);
    model.scores.push_back(score);
    model.types.push_back(type);
    return {};
}

Status check_trainer(std::string_view message) {
    uint64_t type = 1;  // the format's default, unigram
    bool suffix = false;
    Fields fields(message);
    while (const std::optional<Field> it = fields.next()) {
        if (it->wire != wire_varint) continue;
        if (it->number == field::model_type) type = it->value;
        if (it->number == field::whitespace_suffix) suffix = it->value != 0;
    }
    if (fields.broken()) return input_error("tokenizer.model is damaged: its trainer_spec cannot be read.");
    if (type != model_type_bpe)
        return input_error(fmt::format(
            "tokenizer.model has SentencePiece model type {}: only BPE (2) is supported, not unigram (1), word (3) or "
            "char (4).",
            type));
    if (suffix) return input_error("tokenizer.model treats spaces as suffixes, which is not supported.");
    return {};
}

Status check_normalizer(std::string_view message, SentencePieceModel& model) {
    bool collapses = true;  // the format's default
    bool escapes = true;
    std::string_view map;
    Fields fields(message);
    while (const std::optional<Field> it = fields.next()) {
        if (it->number == field::charsmap && it->wire == wire_bytes) map = it->bytes;
        if (it->wire != wire_varint) continue;
        if (it->number == field::dummy_prefix) model.add_space_prefix = it->value != 0;
        if (it->number == field::remove_whitespaces) collapses = it->value != 0;
        if (it->number == field::escape_whitespaces) escapes = it->value != 0;
    }
    if (fields.broken()) return input_error("tokenizer.model is damaged: its normalizer_spec cannot be read.");
    if (!map.empty())
        return input_error(
            "tokenizer.model rewrites text before encoding (a normalisation map): only identity is supported.");
    if (collapses || !escapes)
        return input_error(
            "tokenizer.model removes or does not escape spaces (remove_extra_whitespaces, escape_whitespaces): such "
            "tokenizers are not supported.");
    return {};
}

// ---- writing

void put_varint(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

void put_number(std::string& out, uint32_t number, uint64_t value) {
    put_varint(out, number << 3 | wire_varint);
    put_varint(out, value);
}

void put_bytes(std::string& out, uint32_t number, std::string_view bytes) {
    put_varint(out, number << 3 | wire_bytes);
    put_varint(out, bytes.size());
    out += bytes;
}

void put_float(std::string& out, uint32_t number, float value) {
    put_varint(out, number << 3 | wire_fixed32);
    const auto bits = std::bit_cast<uint32_t>(value);
    out.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

// A character map without entries: size of the trie, 256 empty trie units of 4 bytes, no replacement strings. It does
// what no map at all does, except that the library writes a line to stderr when there is none.
std::string empty_charsmap() {
    constexpr uint32_t trie_bytes = 256 * 4;
    std::string map(sizeof trie_bytes + trie_bytes + 1, '\0');
    std::memcpy(map.data(), &trie_bytes, sizeof trie_bytes);
    return map;
}

}  // namespace

Result<SentencePieceModel> read_sentencepiece_model(std::string_view serialized) {
    if (serialized.empty()) return input_error("tokenizer.model is empty. Fetch it again.");
    SentencePieceModel model;
    std::string_view trainer;
    std::string_view normalizer;
    Fields fields(serialized);
    while (const std::optional<Field> it = fields.next()) {
        if (it->wire != wire_bytes) continue;
        if (it->number == field::trainer_spec) trainer = it->bytes;
        if (it->number == field::normalizer_spec) normalizer = it->bytes;
        if (it->number != field::pieces) continue;
        if (model.tokens.size() == max_sentencepiece_tokens)
            return input_error(fmt::format("tokenizer.model has more than {} tokens, the most that is supported.",
                                           max_sentencepiece_tokens));
        if (Status status = read_piece(it->bytes, model); !status) return status.error();
    }
    if (fields.broken())
        return input_error(
            fmt::format("tokenizer.model is damaged after {} tokens: it is cut off or no SentencePiece "
                        "file. Fetch it again.",
                        model.tokens.size()));
    if (Status status = check_trainer(trainer); !status) return status.error();
    if (Status status = check_normalizer(normalizer, model); !status) return status.error();
    return model;
}

void SentencePieceWriter::add(std::string_view piece, float score, PieceType type) {
    std::string message;
    put_bytes(message, field::piece, piece);
    put_float(message, field::score, score);
    put_number(message, field::type, static_cast<uint64_t>(type));
    put_bytes(bytes_, field::pieces, message);
    ++count_;
}

std::string SentencePieceWriter::finish(bool byte_fallback, int32_t unknown_id) {
    constexpr auto none = static_cast<uint64_t>(-1);
    std::string trainer;
    put_number(trainer, field::model_type, model_type_bpe);
    put_number(trainer, field::vocab_size, static_cast<uint64_t>(count_));
    put_number(trainer, field::byte_fallback, byte_fallback ? 1 : 0);
    put_number(trainer, field::unk_id, static_cast<uint64_t>(unknown_id));
    for (const uint32_t id : {field::bos_id, field::eos_id, field::pad_id}) put_number(trainer, id, none);
    put_bytes(bytes_, field::trainer_spec, trainer);

    std::string normalizer;
    put_bytes(normalizer, field::name, "identity");
    put_bytes(normalizer, field::charsmap, empty_charsmap());
    put_number(normalizer, field::dummy_prefix, 0);
    put_number(normalizer, field::remove_whitespaces, 0);
    put_number(normalizer, field::escape_whitespaces, 1);
    put_bytes(bytes_, field::normalizer_spec, normalizer);
    return std::move(bytes_);
}

}  // namespace octavo
