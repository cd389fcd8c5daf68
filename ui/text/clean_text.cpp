#include "ui/text/clean_text.h"

#include <algorithm>

#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

struct Range {
    char32_t first;
    char32_t last;
};

template <size_t N>
bool in_any(const Range (&ranges)[N], char32_t character) {
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [character](Range range) { return range.first <= character && character <= range.last; });
}

constexpr Range kDirectionMarks[] = {{0x202A, 0x202E}, {0x2066, 0x2069}};

bool is_control(char32_t character) { return character < 0x20 || (character >= 0x7F && character < 0xA0); }

}  // namespace

std::string clean_text(std::string_view text) {
    std::string clean;
    clean.reserve(text.size());
    while (!text.empty()) {
        // The usual case in one go: printable ASCII and line ends.
        const auto* end = std::find_if(text.begin(), text.end(),
                                       [](char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F; });
        clean.append(text.begin(), end);
        text.remove_prefix(static_cast<size_t>(end - text.begin()));
        if (text.empty()) break;
        if (text.front() == '\r') {
            if (text.size() < 2 || text[1] != '\n') clean += '\n';
            text.remove_prefix(1);
            continue;
        }
        const Utf8Step step = read_utf8(text);
        const auto bytes = static_cast<size_t>(std::max(step.bytes, 1));
        if (step.kind != Utf8Step::Kind::character || is_control(step.character))
            clean += replacement_character;
        else if (!in_any(kDirectionMarks, step.character))
            clean.append(text.substr(0, bytes));
        text.remove_prefix(bytes);
    }
    return clean;
}

bool is_zero_width(char32_t character) {
    constexpr Range ranges[] = {{0xAD, 0xAD},     {0x200B, 0x200F}, {0x202A, 0x202E},  {0x2060, 0x206F},
                                {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE0FFF}};
    return character >= 0xAD && in_any(ranges, character);
}

bool is_combining(char32_t character) {
    constexpr Range ranges[] = {{0x300, 0x36F},    {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},
                                {0x64B, 0x65F},    {0x93A, 0x94F},   {0xE31, 0xE3A},   {0xE47, 0xE4E},
                                {0x1AB0, 0x1AFF},  {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE20, 0xFE2F},
                                {0x1F3FB, 0x1F3FF}};
    return character >= 0x300 && (in_any(ranges, character) || is_zero_width(character));
}

bool breaks_anywhere(char32_t character) {
    constexpr Range ranges[] = {{0x2E80, 0x303F},   {0x3040, 0x33FF},  {0x3400, 0x9FFF}, {0xA960, 0xA97F},
                                {0xAC00, 0xD7FF},   {0xF900, 0xFAFF},  {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF},
                                {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFF}};
    return character >= 0x2E80 && in_any(ranges, character);
}

}  // namespace octavo
