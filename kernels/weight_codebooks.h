// The tables of values that the IQ types point into. A grid point is a vector of small digits, packed into one number,
// first digit lowest; every table ascends. Back ends make of them what suits their instructions.
//
// Source: facts of the GGUF formats, obtained by decoding one block for each code.
#pragma once

#include <cstdint>

namespace octavo {

// Eight digits of 2 bits: magnitudes kIq2Levels[digit].
inline constexpr int kIq2Levels[3] = {8, 25, 43};
extern const uint16_t kIq2XxsGrid[256];
extern const uint16_t kIq2XsGrid[512];
extern const uint16_t kIq2SGrid[1024];

// Four digits of 3 bits: magnitudes kIq3XxsLevels[digit], or 2 * digit + 1 in kIq3SGrid.
inline constexpr int kIq3XxsLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
extern const uint16_t kIq3XxsGrid[256];
extern const uint16_t kIq3SGrid[512];

// Eight digits of 2 bits: values digit - 1.
extern const uint16_t kIq1Grid[2048];

// Seven stored sign bits and an eighth that makes the number of negative values even; bit i: value i is negative.
constexpr uint32_t iq_signs(uint32_t seven) {
    uint32_t parity = seven ^ seven >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven | (parity & 1) << 7;
}

// The 4-bit levels of IQ4_NL and IQ4_XS, unevenly spaced as quantiles of a normal distribution are.
inline constexpr int kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace octavo
