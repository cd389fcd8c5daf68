// What the split rules of byte-level BPE ask of a character.
//
// Source: Unicode general categories (letter: L*, mark: M*, number: N*) and the property White_Space.
// Threads: pure function.
#pragma once

#include <cstdint>

namespace octavo {

// `newline` is CR or LF; `space` is all other white space.
enum class CharClass : uint8_t { other, letter, mark, number, space, newline };

CharClass char_class(char32_t character);

}  // namespace octavo
