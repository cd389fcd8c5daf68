#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

struct Lead {
    int bytes;             // of the whole character; 0: no character starts like this
    unsigned char lowest;  // range of the second byte: it shuts out overlong forms, surrogates and > U+10FFFF
    unsigned char highest;
};

constexpr Lead lead_of(unsigned char byte) {
    if (byte < 0x80) return {1, 0, 0};
    if (byte < 0xC2) return {0, 0, 0};
    if (byte < 0xE0) return {2, 0x80, 0xBF};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3, 0x80, 0xBF};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte < 0xF4) return {4, 0x80, 0xBF};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0, 0, 0};
}

}  // namespace

Utf8Step read_utf8(std::string_view text) {
    using Kind = Utf8Step::Kind;
    if (text.empty()) return {};
    const auto first = static_cast<unsigned char>(text[0]);
    const Lead lead = lead_of(first);
    if (lead.bytes == 0) return {Kind::broken, 1, 0};
    if (lead.bytes == 1) return {Kind::character, 1, first};
    char32_t character = first & (0x7FU >> lead.bytes);
    for (int i = 1; i < lead.bytes; ++i) {
        if (static_cast<std::size_t>(i) == text.size()) return {Kind::cut, i, 0};
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool fits = i == 1 ? byte >= lead.lowest && byte <= lead.highest : (byte & 0xC0) == 0x80;
        if (!fits) return {Kind::broken, i, 0};
        character = (character << 6) | (byte & 0x3FU);
    }
    return {Kind::character, lead.bytes, character};
}

bool is_valid_utf8(std::string_view text) {
    while (!text.empty()) {
        const Utf8Step step = read_utf8(text);
        if (step.kind != Utf8Step::Kind::character) return false;
        text.remove_prefix(step.bytes);
    }
    return true;
}

}  // namespace octavo
