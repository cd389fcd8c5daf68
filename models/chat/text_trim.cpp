#include "models/chat/text_trim.h"

#include <algorithm>

#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_space(const Utf8Step& step) { return step.kind == Utf8Step::Kind::character && is_space(step.character); }

// The character that ends the text; broken if the last bytes are none.
Utf8Step last_character(std::string_view text) {
    std::size_t bytes = 1;
    while (bytes < 4 && bytes < text.size() && (text[text.size() - bytes] & 0xC0) == 0x80) ++bytes;
    const Utf8Step step = read_utf8(text.substr(text.size() - bytes));
    return static_cast<std::size_t>(step.bytes) == bytes ? step : Utf8Step{Utf8Step::Kind::broken, 1, 0};
}

}  // namespace

std::string_view trim_left(std::string_view text) {
    for (Utf8Step step = read_utf8(text); is_space(step); step = read_utf8(text)) text.remove_prefix(step.bytes);
    return text;
}

std::string_view trim_right(std::string_view text) {
    while (!text.empty()) {
        const Utf8Step step = last_character(text);
        if (!is_space(step)) break;
        text.remove_suffix(step.bytes);
    }
    return text;
}

std::string_view trim(std::string_view text) { return trim_right(trim_left(text)); }

std::string_view trim_left(std::string_view text, char c) {
    text.remove_prefix(std::min(text.find_first_not_of(c), text.size()));
    return text;
}

std::string_view trim_right(std::string_view text, char c) { return text.substr(0, text.find_last_not_of(c) + 1); }

}  // namespace octavo
