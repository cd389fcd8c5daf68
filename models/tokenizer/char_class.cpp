#include "models/tokenizer/char_class.h"

#include <utf8proc.h>

#include <array>

namespace octavo {
namespace {

constexpr std::array<CharClass, 128> make_ascii_classes() {
    std::array<CharClass, 128> classes{};
    for (int c = 0; c < 128; ++c) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) classes[c] = CharClass::letter;
        if (c >= '0' && c <= '9') classes[c] = CharClass::number;
        if (c == '\t' || c == '\v' || c == '\f' || c == ' ') classes[c] = CharClass::space;
        if (c == '\n' || c == '\r') classes[c] = CharClass::newline;
    }
    return classes;
}

constexpr std::array<CharClass, 128> ascii_classes = make_ascii_classes();

// Beyond ASCII.
bool is_space(char32_t c) {
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

CharClass class_of_category(utf8proc_category_t category) {
    switch (category) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO: return CharClass::letter;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME: return CharClass::mark;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO: return CharClass::number;
        default: return CharClass::other;
    }
}

}  // namespace

CharClass char_class(char32_t character) {
    if (character < ascii_classes.size()) return ascii_classes[character];
    if (is_space(character)) return CharClass::space;
    return class_of_category(utf8proc_category(static_cast<utf8proc_int32_t>(character)));
}

}  // namespace octavo
