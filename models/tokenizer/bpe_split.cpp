#include "models/tokenizer/bpe_split.h"

#include "models/tokenizer/char_class.h"
#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

struct SplitNames {
    BpeSplit split;
    std::string_view name;
    std::string_view pattern;
};

constexpr SplitNames splits[] = {
    {BpeSplit::qwen2, "qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {BpeSplit::qwen35, "qwen35",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

// The character at a place. Its class tells; at the end of the text it has no bytes.
struct Character {
    CharClass kind = CharClass::other;
    std::size_t bytes = 0;
};

Character character_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return {};
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) return {char_class(first), 1};
    const Utf8Step step = read_utf8(text.substr(at));
    const bool whole = step.kind == Utf8Step::Kind::character;
    return {whole ? char_class(step.character) : CharClass::other, static_cast<std::size_t>(step.bytes)};
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Bytes of "'s" and the like at the start of the text; 0 if there is none.
std::size_t contraction(std::string_view text) {
    if (text.size() < 2 || text[0] != '\'') return 0;
    if (text.substr(1).starts_with("\u017F")) return 3;  // the long s is an s in another case
    const char first = lower(text[1]);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    const char second = text.size() > 2 ? lower(text[2]) : '\0';
    const bool two = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    return two ? 3 : 0;
}

class Splitter {
  public:
    Splitter(std::string_view text, BpeSplit split)
        : text_(text), marks_are_letters_(split == BpeSplit::qwen35), first_(character_at(text, 0)) {}

    std::size_t word() const {
        if (const std::size_t end = contraction(text_); end > 0) return end;
        if (const std::size_t end = letters(); end > 0) return end;
        if (first_.kind == CharClass::number) return first_.bytes;
        if (const std::size_t end = symbols(); end > 0) return end;
        return white_space();
    }

  private:
    bool is_letter(const Character& c) const {
        return c.kind == CharClass::letter || (marks_are_letters_ && c.kind == CharClass::mark);
    }
    bool is_symbol(const Character& c) const {
        return c.bytes > 0 && (c.kind == CharClass::other || (!marks_are_letters_ && c.kind == CharClass::mark));
    }

    std::size_t letters() const {
        std::size_t at = 0;
        if (!is_letter(first_) && first_.kind != CharClass::number && first_.kind != CharClass::newline)
            at = first_.bytes;
        Character next = character_at(text_, at);
        if (!is_letter(next)) return 0;
        for (; is_letter(next); next = character_at(text_, at)) at += next.bytes;
        return at;
    }

    std::size_t symbols() const {
        std::size_t at = text_[0] == ' ' ? 1 : 0;
        Character next = character_at(text_, at);
        if (!is_symbol(next)) return 0;
        for (; is_symbol(next); next = character_at(text_, at)) at += next.bytes;
        for (; next.kind == CharClass::newline; next = character_at(text_, at)) at += next.bytes;
        return at;
    }

    std::size_t white_space() const {
        std::size_t end = 0;
        std::size_t last = 0;           // where the last character starts
        std::size_t after_newline = 0;  // where the last newline ends
        for (Character next = first_; next.kind == CharClass::space || next.kind == CharClass::newline;
             next = character_at(text_, end)) {
            last = end;
            end += next.bytes;
            if (next.kind == CharClass::newline) after_newline = end;
        }
        if (after_newline > 0) return after_newline;
        return end == text_.size() || last == 0 ? end : last;
    }

    std::string_view text_;
    bool marks_are_letters_;
    Character first_;
};

}  // namespace

std::optional<BpeSplit> find_bpe_split(std::string_view name) {
    for (const SplitNames& known : splits)
        if (known.name == name) return known.split;
    return std::nullopt;
}

std::optional<BpeSplit> find_bpe_split_by_pattern(std::string_view pattern) {
    for (const SplitNames& known : splits)
        if (known.pattern == pattern) return known.split;
    return std::nullopt;
}

std::size_t first_word(std::string_view text, BpeSplit split) { return Splitter(text, split).word(); }

}  // namespace octavo
