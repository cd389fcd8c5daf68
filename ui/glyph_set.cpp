#include "ui/glyph_set.h"

#include <imgui.h>

#include <algorithm>

#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

constexpr int kFewChinese = 24;

bool is_chinese(char32_t character) {
    return (character >= 0x3400 && character <= 0x9FFF) || (character >= 0xF900 && character <= 0xFAFF) ||
           character >= 0x20000;
}

bool is_hangul(char32_t character) { return character >= 0xAC00 && character <= 0xD7AF; }

size_t ascii_prefix(std::string_view text) {
    const auto* end = std::find_if(text.data(), text.data() + text.size(), [](char c) { return (c & 0x80) != 0; });
    return static_cast<size_t>(end - text.data());
}

}  // namespace

GlyphSet::GlyphSet() : wanted_(limit) {
    add_range(0x20, 0x17F);     // Latin
    add_range(0x2010, 0x203A);  // dashes, quotes, dots
    add_range(0x2190, 0x2199);  // arrows
    add_range(0x2212, 0x2212);  // minus
    add_range(0x2248, 0x2248);  // about
    add_range(0x2260, 0x2265);  // not equal, at most, at least
    add_range(0xFFFD, 0xFFFD);  // what stands for broken text
}

bool GlyphSet::add(std::string_view text) {
    bool added = false;
    while (true) {
        text.remove_prefix(ascii_prefix(text));
        if (text.empty()) return added;
        const Utf8Step step = read_utf8(text);
        text.remove_prefix(static_cast<size_t>(std::max(step.bytes, 1)));
        if (step.kind != Utf8Step::Kind::character || step.character >= limit || wanted_[step.character]) continue;
        add_missing(step.character);
        added = true;
    }
}

void GlyphSet::add_range(char32_t first, char32_t last) {
    for (char32_t character = first; character <= last; ++character) wanted_[character] = true;
}

void GlyphSet::add_missing(char32_t character) {
    if (!is_chinese(character) && !is_hangul(character)) {
        add_range(character & ~char32_t{127}, character | 127);
        return;
    }
    wanted_[character] = true;
    if (!is_chinese(character) || ++chinese_ != kFewChinese) return;
    ImFontAtlas tables;
    for (const ImWchar* range = tables.GetGlyphRangesChineseSimplifiedCommon(); range[0] != 0; range += 2)
        add_range(range[0], range[1]);
}

std::vector<unsigned> GlyphSet::ranges() const {
    std::vector<unsigned> pairs;
    for (char32_t character = 1; character < limit; ++character) {
        if (!wanted_[character]) continue;
        pairs.push_back(character);
        while (character + 1 < limit && wanted_[character + 1]) ++character;
        pairs.push_back(character);
    }
    pairs.push_back(0);
    return pairs;
}

}  // namespace octavo
