// Whole-number products of a weight tile with quantised tokens, in register blocks of kTileRows rows by a few tokens.
#include "kernels/cpu/isa/int8/tile.h"

namespace octavo::OCTAVO_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kTokens = 6;
#else
constexpr int kTokens = 2;
#endif

// The order of operations on a lane is the same for every number of tokens; see int8_kernels.h.
template <int stretch_columns, bool minima, bool wide, int Tokens>
void multiply(const Tile& tile, VecF zero_code, int blocks, const Int8Block* const* x, float* sums) {
    constexpr int kStretches = kInt8Block / stretch_columns;  // of a block
    constexpr int kSteps = stretch_columns / 4;
    VecF total[Tokens][kRowVectors];
    const Int8Block* token[Tokens];
    for (int t = 0; t < Tokens; ++t) {
        token[t] = x[t];
        for (int v = 0; v < kRowVectors; ++v) total[t][v] = load(sums + t * kTileRows + v * kLanes);
    }
    for (int block = 0; block < blocks; ++block) {
        VecF part[Tokens][kRowVectors];
        for (int t = 0; t < Tokens; ++t) {
            for (int v = 0; v < kRowVectors; ++v) part[t][v] = zero();
        }
        for (int stretch = 0; stretch < kStretches; ++stretch) {
            const int index = block * kStretches + stretch;
            VecI sum[Tokens][kRowVectors];
            for (int t = 0; t < Tokens; ++t) {
                for (int v = 0; v < kRowVectors; ++v) sum[t][v] = set1_int(0);
            }
            for (int step = 0; step < kSteps; ++step) {
                for (int t = 0; t < Tokens; ++t) {
                    const VecI values = broadcast4(token[t][block].codes + stretch * stretch_columns + 4 * step);
                    for (int v = 0; v < kRowVectors; ++v) {
                        const VecI weights = tile.codes[index * kSteps + step][v];
                        sum[t][v] = wide ? dot4_wide(sum[t][v], weights, values) : dot4(sum[t][v], weights, values);
                    }
                }
            }
            for (int t = 0; t < Tokens; ++t) {
                const Int8Block& b = token[t][block];
                const VecF negative_sum = set1(kStretches == 1 ? b.negative_sum : b.negative_half_sums[stretch]);
                for (int v = 0; v < kRowVectors; ++v) {
                    VecF whole = to_float(sum[t][v]);
                    if constexpr (!minima) whole = fma(zero_code, negative_sum, whole);  // exact
                    part[t][v] = fma(whole, tile.scales[index][v], part[t][v]);
                    if constexpr (minima) part[t][v] = fma(negative_sum, tile.minima[index][v], part[t][v]);
                }
            }
        }
        for (int t = 0; t < Tokens; ++t) {
            const VecF scale = set1(token[t][block].scale);
            for (int v = 0; v < kRowVectors; ++v) total[t][v] = fma(part[t][v], scale, total[t][v]);
        }
    }
    for (int t = 0; t < Tokens; ++t) {
        for (int v = 0; v < kRowVectors; ++v) store(sums + t * kTileRows + v * kLanes, total[t][v]);
    }
}

template <int stretch_columns, bool minima, bool wide>
void multiply_tokens(const Tile& tile, int zero, int blocks, const Int8Block* const* x, int tokens, float* sums) {
    const VecF zero_code = set1(static_cast<float>(zero));
    for (; tokens >= kTokens; tokens -= kTokens, x += kTokens, sums += kTokens * kTileRows) {
        multiply<stretch_columns, minima, wide, kTokens>(tile, zero_code, blocks, x, sums);
    }
    switch (tokens) {
        case 1: return multiply<stretch_columns, minima, wide, 1>(tile, zero_code, blocks, x, sums);
#if defined(__AVX512F__)
        case 2: return multiply<stretch_columns, minima, wide, 2>(tile, zero_code, blocks, x, sums);
        case 3: return multiply<stretch_columns, minima, wide, 3>(tile, zero_code, blocks, x, sums);
        case 4: return multiply<stretch_columns, minima, wide, 4>(tile, zero_code, blocks, x, sums);
        case 5: return multiply<stretch_columns, minima, wide, 5>(tile, zero_code, blocks, x, sums);
#endif
        default: return;
    }
}

}  // namespace

void multiply_zero_16(const Tile& tile, int zero, int blocks, const Int8Block* const* x, int tokens, float* sums) {
    multiply_tokens<16, false, false>(tile, zero, blocks, x, tokens, sums);
}
void multiply_zero_32(const Tile& tile, int zero, int blocks, const Int8Block* const* x, int tokens, float* sums) {
    multiply_tokens<32, false, false>(tile, zero, blocks, x, tokens, sums);
}
void multiply_minima_16(const Tile& tile, int zero, int blocks, const Int8Block* const* x, int tokens, float* sums) {
    multiply_tokens<16, true, false>(tile, zero, blocks, x, tokens, sums);
}
void multiply_minima_32(const Tile& tile, int zero, int blocks, const Int8Block* const* x, int tokens, float* sums) {
    multiply_tokens<32, true, false>(tile, zero, blocks, x, tokens, sums);
}
void multiply_wide_32(const Tile& tile, int zero, int blocks, const Int8Block* const* x, int tokens, float* sums) {
    multiply_tokens<32, false, true>(tile, zero, blocks, x, tokens, sums);
}

}  // namespace octavo::OCTAVO_ISA
