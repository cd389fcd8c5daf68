#include "app/terminal/text_width.h"

#include <algorithm>

namespace octavo {
namespace {

struct Range {
    char32_t first, last;
};

constexpr Range kZeroWidth[] = {{0x300, 0x36f},   {0x483, 0x489},    {0x591, 0x5bd},   {0x610, 0x61a},
                                {0x64b, 0x65f},   {0x200b, 0x200f},  {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                                {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
                           {0xa960, 0xa97c},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                           {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                           {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <size_t N>
bool is_in(const Range (&ranges)[N], char32_t code) {
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [code](const Range& range) { return code >= range.first && code <= range.last; });
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

int columns_of(char32_t code) { return is_in(kZeroWidth, code) ? 0 : is_in(kWide, code) ? 2 : 1; }

}  // namespace

TextCharacter character_at(std::string_view text, size_t position) {
    constexpr TextCharacter kBroken = {0xfffd, 1, 1};
    const auto lead = static_cast<unsigned char>(text[position]);
    if (lead < 0x80) return {lead, 1, 1};
    const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || position + bytes > text.size()) return kBroken;
    char32_t code = lead & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if (!is_continuation(text[position + i])) return kBroken;
        code = code << 6 | (static_cast<unsigned char>(text[position + i]) & 0x3fu);
    }
    return {code, bytes, columns_of(code)};
}

size_t previous_character(std::string_view text, size_t position) {
    for (size_t back = std::min<size_t>(4, position); back > 1; --back)
        if (character_at(text, position - back).bytes == back) return position - back;
    return position - 1;
}

int text_columns(std::string_view text) {
    int columns = 0;
    for (size_t at = 0; at < text.size();) {
        const TextCharacter character = character_at(text, at);
        columns += character.columns;
        at += character.bytes;
    }
    return columns;
}

}  // namespace octavo
