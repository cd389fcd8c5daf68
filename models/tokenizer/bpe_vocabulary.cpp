#include "models/tokenizer/bpe_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "models/tensors/quote_name.h"
#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

// Four times the largest vocabulary in use; they bound what a hostile file can make us allocate.
constexpr std::size_t max_tokens = 1 << 20;
constexpr std::size_t max_merges = 1 << 20;
constexpr std::size_t max_token_bytes = 4096;

enum class TokenType : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

// Printable bytes of Latin-1 stand for themselves in token names, the 68 others for U+0100 on, in order.
class ByteNames {
  public:
    ByteNames() {
        bytes_.fill(-1);
        int other = 0x100;
        for (int byte = 0; byte < 256; ++byte) {
            const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
            bytes_[printable ? byte : other++] = static_cast<int16_t>(byte);
        }
    }

    // The bytes that `name` stands for; no value where it has other characters.
    std::optional<std::string> bytes_of(std::string_view name) const {
        std::string bytes;
        for (std::string_view rest = name; !rest.empty();) {
            const Utf8Step step = read_utf8(rest);
            if (step.kind != Utf8Step::Kind::character || step.character >= bytes_.size() || bytes_[step.character] < 0)
                return std::nullopt;
            bytes += static_cast<char>(bytes_[step.character]);
            rest.remove_prefix(static_cast<std::size_t>(step.bytes));
        }
        return bytes;
    }

  private:
    std::array<int16_t, 0x144> bytes_{};  // [character] -1: stands for no byte
};

bool is_control_name(std::string_view name) {
    return name.size() > 4 && name.starts_with("<|") && name.ends_with("|>");
}

class Builder {
  public:
    explicit Builder(const BpeSource& source) : source_(source) {}

    Result<BpeVocabulary> build() {
        for (const auto step : {&Builder::check_sizes, &Builder::add_tokens, &Builder::add_merges})
            if (Status status = (this->*step)(); !status) return status.error();
        out_.stop_ids = find_stop_ids(source_.special, out_.specials);
        return std::move(out_);
    }

  private:
    int32_t size() const { return static_cast<int32_t>(source_.tokens.size()); }
    TokenType type(int32_t id) const {
        return source_.types.empty() ? TokenType::normal : static_cast<TokenType>(source_.types[id]);
    }

    Status check_sizes() {
        const std::size_t count = source_.tokens.size();
        const BpeSource::Names& names = source_.names;
        if (count == 0) return input_error(fmt::format("{} is empty.", names.tokens));
        if (count > max_tokens || source_.vocab_size > static_cast<int32_t>(max_tokens))
            return input_error(fmt::format("{} has {} tokens; at most {} are supported.", names.tokens,
                                           std::max<std::size_t>(count, source_.vocab_size), max_tokens));
        if (!source_.types.empty() && source_.types.size() != count)
            return input_error(
                fmt::format("{} has {} entries for {} tokens.", names.types, source_.types.size(), count));
        if (source_.merges.size() > max_merges)
            return input_error(fmt::format("{} has {} entries; at most {} are supported.", names.merges,
                                           source_.merges.size(), max_merges));
        return check_special_ids(source_.special, size());
    }

    Status add_tokens() {
        const std::size_t vocab = std::max(size(), source_.vocab_size);
        out_.bytes.resize(vocab);
        out_.names.resize(vocab);
        out_.byte_ids.fill(-1);
        ids_.reserve(source_.tokens.size());
        for (int32_t id = 0; id < size(); ++id)
            if (Status status = add_token(id); !status) return status;
        return {};
    }

    Status add_token(int32_t id) {
        const std::string_view name = source_.tokens[id];
        const auto fault = [&](std::string_view what) {
            return input_error(
                fmt::format("Token {} ({}) in {} {}.", id, quote_name(name), source_.names.tokens, what));
        };
        const auto number = static_cast<int32_t>(type(id));
        if (number < static_cast<int32_t>(TokenType::normal) || number > static_cast<int32_t>(TokenType::byte))
            return fault(fmt::format("has the unknown type {} in {} (known: 1 to 6)", number, source_.names.types));
        if (type(id) == TokenType::unused) return {};
        if (name.empty()) return fault("is empty");
        if (name.size() > max_token_bytes)
            return fault(fmt::format("has {} bytes; at most {} are supported", name.size(), max_token_bytes));
        if (!ids_.emplace(name, id).second) return fault("occurs a second time");
        if (is_special(id, name)) {
            out_.names[id] = name;
            out_.specials.add(name, id);
            if (!is_control(id, name)) out_.bytes[id] = name;
        } else {
            const std::optional<std::string> bytes = byte_names_.bytes_of(name);
            if (bytes && bytes->size() == 1) out_.byte_ids[static_cast<unsigned char>((*bytes)[0])] = id;
            out_.bytes[id] = bytes.value_or(std::string(name));
        }
        return {};
    }

    bool is_control(int32_t id, std::string_view name) const {
        const SpecialIds& special = source_.special;
        return type(id) == TokenType::control || type(id) == TokenType::unknown || is_control_name(name) ||
               id == special.end_of_text || id == special.end_of_turn || id == special.padding;
    }
    bool is_special(int32_t id, std::string_view name) const {
        return type(id) == TokenType::user_defined || is_control(id, name);
    }

    Status add_merges() {
        out_.merges = BpeMerges(source_.merges.size());
        for (std::size_t rank = 0; rank < source_.merges.size(); ++rank)
            if (Status status = add_merge(static_cast<int32_t>(rank)); !status) return status;
        return {};
    }

    Status add_merge(int32_t rank) {
        const std::string_view merge = source_.merges[static_cast<std::size_t>(rank)];
        const auto fault = [&](std::string_view what) {
            return input_error(
                fmt::format("Merge {} ({}) in {} {}.", rank, quote_name(merge), source_.names.merges, what));
        };
        const std::size_t space = merge.find(' ', 1);
        if (space == std::string_view::npos || space + 1 == merge.size())
            return fault("is not two tokens with a space between them");
        const std::string_view left = merge.substr(0, space);
        const std::string_view right = merge.substr(space + 1);
        const int32_t left_id = find(left);
        const int32_t right_id = find(right);
        if (left_id < 0 || right_id < 0)
            return fault(fmt::format("names {}, which is not in {}", quote_name(left_id < 0 ? left : right),
                                     source_.names.tokens));
        const int32_t result = find(std::string(left) + std::string(right));
        if (result < 0) return fault(fmt::format("makes a token that is not in {}", source_.names.tokens));
        if (!out_.merges.add(left_id, right_id, {rank, result})) return fault("occurs a second time");
        return {};
    }

    // -1: no such token. No merge may lead to a special token.
    int32_t find(std::string_view name) const {
        const auto found = ids_.find(name);
        return found == ids_.end() || !out_.names[found->second].empty() ? -1 : found->second;
    }

    const BpeSource& source_;
    const ByteNames byte_names_;
    std::unordered_map<std::string_view, int32_t> ids_;
    BpeVocabulary out_;
};

}  // namespace

Result<BpeVocabulary> build_bpe_vocabulary(const BpeSource& source) { return Builder(source).build(); }

}  // namespace octavo
