#include "models/tokenizer/sentencepiece_vocabulary.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "models/tensors/quote_name.h"
#include "models/tokenizer/sentencepiece_proto.h"
#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

constexpr std::string_view space_symbol = "\xE2\x96\x81";  // U+2581
constexpr std::size_t max_token_bytes = 4096;

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const bool here = text.compare(at, from.size(), from) == 0;
        out += here ? to : text.substr(at, 1);
        at += here ? from.size() : 1;
    }
    return out;
}

bool is_marked(std::string_view token, std::string_view open, std::string_view close) {
    return token.size() > open.size() + close.size() && token.starts_with(open) && token.ends_with(close);
}

// "<0x0A>" -> 10
std::optional<int> byte_of(std::string_view token) {
    if (token.size() != 6 || !is_marked(token, "<0x", ">")) return std::nullopt;
    constexpr std::string_view digits = "0123456789ABCDEF";
    const std::size_t high = digits.find(token[3]);
    const std::size_t low = digits.find(token[4]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    return static_cast<int>(high * 16 + low);
}

// What a token is to us. The file's type says most of it, names say the rest.
enum class Use { text, unused, byte, inseparable, markup, control, unknown };

class Builder {
  public:
    explicit Builder(const SentencePieceSource& source) : source_(source) {}

    Result<SentencePieceVocabulary> build() {
        for (const auto check : {&Builder::check_sizes, &Builder::check_tokens, &Builder::check_ids,
                                 &Builder::find_unknown, &Builder::check_duplicates, &Builder::find_bytes})
            if (Status status = (this->*check)(); !status) return status.error();
        fill();
        return std::move(out_);
    }

  private:
    int32_t size() const { return static_cast<int32_t>(source_.tokens.size()); }
    PieceType type(int32_t id) const { return static_cast<PieceType>(source_.types[id]); }

    Status check_sizes() {
        const std::size_t count = source_.tokens.size();
        if (count == 0) return input_error("The tokenizer's vocabulary is empty.");
        if (count > max_sentencepiece_tokens)
            return input_error(fmt::format("The tokenizer's vocabulary has {} tokens; at most {} are supported.", count,
                                           max_sentencepiece_tokens));
        if (source_.scores.size() != count || source_.types.size() != count)
            return input_error(
                fmt::format("The tokenizer's arrays do not match: {} tokens (tokenizer.ggml.tokens), {} scores "
                            "(tokenizer.ggml.scores), {} types (tokenizer.ggml.token_type).",
                            count, source_.scores.size(), source_.types.size()));
        return {};
    }

    Status check_tokens() {
        for (int32_t id = 0; id < size(); ++id) {
            const std::string_view token = source_.tokens[id];
            const int32_t number = source_.types[id];
            const auto fault = [&](std::string_view what) {
                return input_error(fmt::format("Token {} ({}) of the tokenizer {}.", id, quote_name(token), what));
            };
            if (token.empty()) return fault("is empty");
            if (token.size() > max_token_bytes)
                return fault(fmt::format("has {} bytes; at most {} are supported", token.size(), max_token_bytes));
            if (!is_valid_utf8(token)) return fault("is not valid UTF-8");
            if (!std::isfinite(source_.scores[id])) return fault("has a score that is no finite number");
            if (number < static_cast<int32_t>(PieceType::normal) || number > static_cast<int32_t>(PieceType::byte))
                return fault(fmt::format("has the unknown type {} (known: 1 to 6)", number));
        }
        return {};
    }

    Status check_ids() { return check_special_ids(source_.special, size()); }

    Status find_unknown() {
        for (int32_t id = 0; id < size(); ++id) {
            if (type(id) != PieceType::unknown) continue;
            if (out_.unknown_id >= 0)
                return input_error(
                    fmt::format("The tokenizer has two unknown tokens, {} and {}.", out_.unknown_id, id));
            out_.unknown_id = id;
        }
        if (out_.unknown_id < 0) out_.unknown_id = source_.special.unknown;
        if (out_.unknown_id < 0)
            return input_error("The tokenizer has no unknown token (type 2, or unknown_token_id).");
        return {};
    }

    Status check_duplicates() {
        used_.reserve(source_.tokens.size());
        for (int32_t id = 0; id < size(); ++id)
            if (!used_.insert(source_.tokens[id]).second)
                return input_error(fmt::format("Token {} ({}) of the tokenizer occurs a second time.", id,
                                               quote_name(source_.tokens[id])));
        return {};
    }

    Status find_bytes() {
        int count = 0;
        std::vector<int32_t> ids(256, -1);
        for (int32_t id = 0; id < size(); ++id) {
            if (type(id) != PieceType::byte) continue;
            const std::optional<int> byte = byte_of(source_.tokens[id]);
            if (!byte)
                return input_error(
                    fmt::format("Token {} ({}) of the tokenizer is a byte token, but its name is not "
                                "of the form <0x0A>.",
                                id, quote_name(source_.tokens[id])));
            ids[*byte] = id;
            ++count;
        }
        if (count != 0 && count != 256)
            return input_error(fmt::format("The tokenizer has {} byte tokens; it needs all 256 or none.", count));
        if (count != 0) out_.byte_ids = std::move(ids);
        return {};
    }

    Use use(int32_t id) const {
        const std::string_view token = source_.tokens[id];
        const SpecialIds& special = source_.special;
        if (type(id) == PieceType::byte) return Use::byte;
        if (id == out_.unknown_id) return Use::unknown;
        if (type(id) == PieceType::control || is_marked(token, "<|", "|>") || id == special.end_of_text ||
            id == special.end_of_turn || id == special.padding)
            return Use::control;
        if (type(id) == PieceType::unused) return Use::unused;
        if (type(id) == PieceType::normal) return Use::text;
        return is_marked(token, "<", ">") ? Use::markup : Use::inseparable;
    }

    void fill() {
        out_.bytes.resize(size());
        out_.names.resize(size());
        out_.add_space_prefix = source_.add_space_prefix;
        SentencePieceWriter writer;
        for (int32_t id = 0; id < size(); ++id) add(id, use(id), writer);
        // Without a token for U+2581 a space would become the three bytes of that character and come back as it.
        if (!has_space_ && !out_.byte_ids.empty()) out_.inseparable.add(" ", out_.byte_ids[' ']);
        out_.model = writer.finish(!out_.byte_ids.empty(), out_.unknown_id);
        out_.stop_ids = find_stop_ids(source_.special, out_.specials);
    }

    void add(int32_t id, Use use, SentencePieceWriter& writer) {
        const std::string_view token = source_.tokens[id];
        const float score = source_.scores[id];
        std::string text = replace_all(token, space_symbol, " ");
        if (use == Use::text || use == Use::unused) {
            const bool unused = use == Use::unused;
            writer.add(token, score, unused ? PieceType::unused : PieceType::normal);
            if (unused) out_.can_cut_text = false;
            if (token == space_symbol) has_space_ = true;
            add_pairs(token);
            out_.bytes[id] = std::move(text);
            return;
        }
        if (use == Use::byte) {
            writer.add(token, score, PieceType::byte);
            out_.bytes[id] = static_cast<char>(*byte_of(token));
            return;
        }
        // The library must never find these in a text, not even where a name is a single character.
        writer.add(unused_name(id), score, use == Use::unknown ? PieceType::unknown : PieceType::control);
        if (use == Use::inseparable) {
            out_.inseparable.add(text, id);
            out_.bytes[id] = std::move(text);
            return;
        }
        out_.specials.add(token, id);
        out_.names[id] = token;
        if (use == Use::markup) out_.bytes[id] = token;
    }

    std::string unused_name(int32_t id) const {
        std::string name = std::to_string(id);
        do name += '\x01';
        while (used_.contains(name));
        return name;
    }

    void add_pairs(std::string_view token) {
        char32_t left = 0;
        for (std::size_t at = 0; at < token.size();) {
            const Utf8Step step = read_utf8(token.substr(at));
            if (at > 0) out_.pairs.add(left, step.character);
            left = step.character;
            at += step.bytes;
        }
    }

    const SentencePieceSource& source_;
    std::unordered_set<std::string_view> used_;  // all token names
    bool has_space_ = false;
    SentencePieceVocabulary out_;
};

}  // namespace

Result<SentencePieceVocabulary> build_vocabulary(const SentencePieceSource& source) { return Builder(source).build(); }

}  // namespace octavo
