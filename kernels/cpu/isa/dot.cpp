// Dot products of weight rows with token rows, in register tiles of 4 rows by up to kTile tokens.
//
// Each (row, token) pair has one vector accumulator that walks the columns in order, and one reduction tree. That fixes
// the order of the sum, so that a product has the same bits in every tile shape: one token or a thousand, weights read
// in their own format or unpacked. The price against tiles that keep rows in the lanes is the reduction at the end of
// each tile, about an eighth of the work at 384 columns; what it buys is no transposed copy of the weights, and
// prompts that give the same result however they are split.
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"
#include "kernels/cpu/isa/weight_rows.h"

namespace octavo::OCTAVO_ISA {

namespace {

constexpr int kRows = 4;
// 24 accumulators, 6 token vectors and a weight vector in 32 registers; or 12, 3 and 1 in 16.
constexpr int kTile = kDotTileTokens;
constexpr int64_t kTokenBlockBytes = 24 << 10;  // of token rows: half of a core's first-level cache

const float* token_row(const DotProducts& op, int token) {
    return op.x + (op.x_rows != nullptr ? op.x_rows[token] : token) * op.x_stride;
}

// y[first_token + t][first_row + r] for a tile of Rows x Tokens.
template <class Weights, int Rows, int Tokens>
void tile(const DotProducts& op, int first_row, int first_token) {
    VecF sum[Tokens][kRows];
    const std::byte* w = op.w + first_row * op.row_bytes;
    const float* x[Tokens];
    for (int t = 0; t < Tokens; ++t) {
        x[t] = token_row(op, first_token + t);
        for (int r = 0; r < kRows; ++r) sum[t][r] = zero();
    }

    int64_t col = 0;
    for (; col + Weights::kStep <= op.cols; col += Weights::kStep, w += Weights::kStepBytes) {
        typename Weights::Scale scale[Rows];
        for (int r = 0; r < Rows; ++r) scale[r] = Weights::scale(w + r * op.row_bytes);
        for (int v = 0; v < Weights::kStep / kLanes; ++v) {
            VecF value[Tokens];
            for (int t = 0; t < Tokens; ++t) value[t] = load(x[t] + col + v * kLanes);
            for (int r = 0; r < Rows; ++r) {
                const VecF weight = Weights::load(w + r * op.row_bytes, v, scale[r]);
                for (int t = 0; t < Tokens; ++t) sum[t][r] = fma(weight, value[t], sum[t][r]);
            }
        }
    }
    if (col < op.cols) {
        const int rest = static_cast<int>(op.cols - col);
        for (int r = 0; r < Rows; ++r) {
            const VecF weight = Weights::load_tail(w + r * op.row_bytes, rest);
            for (int t = 0; t < Tokens; ++t) sum[t][r] = fma(weight, load_first(x[t] + col, rest), sum[t][r]);
        }
    }

    for (int t = 0; t < Tokens; ++t) {
        float* y = op.y + (first_token + t) * op.y_stride + first_row;
        const Quad total = reduce_add4(sum[t][0], sum[t][1], sum[t][2], sum[t][3]);
        if constexpr (Rows == kRows) {
            store_quad(y, op.accumulate ? load_quad(y) + total : total);
        } else {
            for (int r = 0; r < Rows; ++r) y[r] = op.accumulate ? y[r] + total[r] : total[r];
        }
    }
}

template <class Weights, int Rows>
void tile(const DotProducts& op, int first_row, int first_token, int tokens) {
    switch (tokens) {
        case 1: return tile<Weights, Rows, 1>(op, first_row, first_token);
        case 2: return tile<Weights, Rows, 2>(op, first_row, first_token);
        case 3: return tile<Weights, Rows, 3>(op, first_row, first_token);
#if defined(__AVX512F__)
        case 4: return tile<Weights, Rows, 4>(op, first_row, first_token);
        case 5: return tile<Weights, Rows, 5>(op, first_row, first_token);
        case 6: return tile<Weights, Rows, 6>(op, first_row, first_token);
#endif
        default: return;
    }
}

template <class Weights>
void dot(const DotProducts& op) {
    const int64_t tiles = kTokenBlockBytes / (kTile * op.cols * 4);
    const int block = kTile * static_cast<int>(tiles > 1 ? tiles : 1);
    const int whole_rows = op.rows / kRows * kRows;
    for (int first = 0; first < op.tokens; first += block) {
        const int end = first + block < op.tokens ? first + block : op.tokens;
        for (int row = 0; row < op.rows; row += row < whole_rows ? kRows : 1) {
            for (int token = first; token < end; token += kTile) {
                const int tokens = token + kTile < end ? kTile : end - token;
                if (row < whole_rows) {
                    tile<Weights, kRows>(op, row, token, tokens);
                } else {
                    tile<Weights, 1>(op, row, token, tokens);
                }
            }
        }
    }
}

template <class Weights>
void unpack(const std::byte* weights, int64_t count, float* values) {
    int64_t i = 0;
    for (; i + Weights::kStep <= count; i += Weights::kStep, weights += Weights::kStepBytes) {
        const typename Weights::Scale scale = Weights::scale(weights);
        for (int v = 0; v < Weights::kStep / kLanes; ++v) {
            store(values + i + v * kLanes, Weights::load(weights, v, scale));
        }
    }
    const int rest = static_cast<int>(count - i);
    if (rest > 0) store_first(values + i, Weights::load_tail(weights, rest), rest);
}

}  // namespace

void dot_f32(const DotProducts& op) { dot<F32Row>(op); }
void dot_f16(const DotProducts& op) { dot<F16Row>(op); }
void dot_bf16(const DotProducts& op) { dot<Bf16Row>(op); }
void dot_q8_0(const DotProducts& op) { dot<Q8_0Row>(op); }

void unpack_f32(const std::byte* weights, int64_t count, float* values) { unpack<F32Row>(weights, count, values); }
void unpack_f16(const std::byte* weights, int64_t count, float* values) { unpack<F16Row>(weights, count, values); }
void unpack_bf16(const std::byte* weights, int64_t count, float* values) { unpack<Bf16Row>(weights, count, values); }
void unpack_q8_0(const std::byte* weights, int64_t count, float* values) { unpack<Q8_0Row>(weights, count, values); }

}  // namespace octavo::OCTAVO_ISA
