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

// A block of token rows stays in the first-level cache while a panel of weights passes by: all columns of it up to
// kMaxSpanCols, else kSpanCols at a time with the accumulators carried in memory.
constexpr int64_t kBlockBytes = 24 << 10;
constexpr int64_t kMaxSpanCols = 1024;
constexpr int64_t kSpanCols = 512;
constexpr int kMaxBlockTokens = 96;
constexpr int kMaxCarryTiles = 64;

// The part of the columns that a tile adds up, and where its accumulators come from and go to.
struct Span {
    int64_t first_col;
    int64_t cols;
    const VecF* carry_in;  // [kTile][kRows]; nullptr: start from zero
    VecF* carry_out;       // nullptr: finish, write y
};

// Of types that end in a tail.
template <class Weights>
constexpr int kVectorBytes = Weights::kStepBytes / (Weights::kStep / kLanes);

// y[t][r] for a tile of Rows x Tokens. Only tiles of one row take columns that do not fill a step.
template <class Weights, int Rows, int Tokens>
void tile(const DotProducts& op, const std::byte* w, const float* const* x, float* y, const Span& span) {
    VecF sum[Tokens][kRows];
    for (int t = 0; t < Tokens; ++t) {
        for (int r = 0; r < kRows; ++r) sum[t][r] = span.carry_in == nullptr ? zero() : span.carry_in[t * kRows + r];
    }

    const int64_t end = span.first_col + span.cols;
    const int64_t row_bytes = op.row_bytes;
    int64_t col = span.first_col;
    w += col / Weights::kStep * Weights::kStepBytes;
    // The rows after these are asked for in the order of memory: several short streams in one page keep the hardware
    // from seeing that they make one long one.
    const std::byte* ahead = w + Rows * row_bytes;
    for (; col + Weights::kStep <= end; col += Weights::kStep, w += Weights::kStepBytes) {
        typename Weights::Scale scale[Rows];
        for (int r = 0; r < Rows; ++r) {
            scale[r] = Weights::scale(w + r * row_bytes, op.block_scales, col);
            if constexpr (Weights::kStreams) __builtin_prefetch(ahead + r * Weights::kStepBytes);
        }
        ahead += Rows * Weights::kStepBytes;
#pragma GCC unroll 16
        for (int v = 0; v < Weights::kStep / kLanes; ++v) {
            VecF value[Tokens];
            for (int t = 0; t < Tokens; ++t) value[t] = load(x[t] + col + v * kLanes);
            for (int r = 0; r < Rows; ++r) {
                const VecF weight = Weights::load(w + r * row_bytes, v, scale[r]);
                for (int t = 0; t < Tokens; ++t) sum[t][r] = fma(weight, value[t], sum[t][r]);
            }
        }
    }
    if constexpr (Rows == 1) {
        for (; col < end; col += kLanes, w += kVectorBytes<Weights>) {
            const int rest = static_cast<int>(end - col < kLanes ? end - col : kLanes);
            const VecF weight = Weights::load_tail(w, rest);
            for (int t = 0; t < Tokens; ++t) sum[t][0] = fma(weight, load_first(x[t] + col, rest), sum[t][0]);
        }
    }

    if (span.carry_out != nullptr) {
        for (int t = 0; t < Tokens; ++t) {
            for (int r = 0; r < kRows; ++r) span.carry_out[t * kRows + r] = sum[t][r];
        }
        return;
    }
    for (int t = 0; t < Tokens; ++t) {
        const Quad total = reduce_add4(sum[t][0], sum[t][1], sum[t][2], sum[t][3]) * op.scale;
        if constexpr (Rows == kRows) {
            store_quad(y, op.accumulate ? load_quad(y) + total : total);
        } else {
            *y = op.accumulate ? *y + total[0] : total[0];
        }
        y += op.y_stride;
    }
}

template <class Weights, int Rows>
void tile(const DotProducts& op, const std::byte* w, const float* const* x, int tokens, float* y, const Span& span) {
    switch (tokens) {
        case 1: return tile<Weights, Rows, 1>(op, w, x, y, span);
        case 2: return tile<Weights, Rows, 2>(op, w, x, y, span);
        case 3: return tile<Weights, Rows, 3>(op, w, x, y, span);
#if defined(__AVX512F__)
        case 4: return tile<Weights, Rows, 4>(op, w, x, y, span);
        case 5: return tile<Weights, Rows, 5>(op, w, x, y, span);
        case 6: return tile<Weights, Rows, 6>(op, w, x, y, span);
#endif
        default: return;
    }
}

// Rows [first_row, first_row + rows) times a block of tokens.
template <class Weights>
void dot_block(const DotProducts& op, int first_row, int rows, const float* const* x, int first_token, int tokens,
               int64_t span_cols) {
    // Rows go one by one at the end, and always when the columns do not fill the last step.
    const int grouped_rows = op.cols % Weights::kStep == 0 ? rows / kRows * kRows : 0;
    VecF carry[kMaxCarryTiles][kTile * kRows];
    for (int64_t col = 0; col < op.cols; col += span_cols) {
        const bool last = col + span_cols >= op.cols;
        Span span = {col, last ? op.cols - col : span_cols, nullptr, nullptr};
        VecF(*tile_carry)[kTile * kRows] = carry;
        for (int row = 0; row < rows; row += row < grouped_rows ? kRows : 1) {
            const std::byte* w = op.w + (first_row + row) * op.row_bytes;
            for (int token = 0; token < tokens; token += kTile, ++tile_carry) {
                const int count = token + kTile < tokens ? kTile : tokens - token;
                float* y = op.y + (first_token + token) * op.y_stride + first_row + row;
                span.carry_in = col == 0 ? nullptr : *tile_carry;
                span.carry_out = last ? nullptr : *tile_carry;
                if (row < grouped_rows) {
                    tile<Weights, kRows>(op, w, x + token, count, y, span);
                } else {
                    tile<Weights, 1>(op, w, x + token, count, y, span);
                }
            }
        }
    }
}

template <class Weights>
void dot(const DotProducts& op) {
    const bool one_span = op.tokens <= kTile || op.cols <= kMaxSpanCols;
    const int64_t span_cols = one_span ? op.cols : kSpanCols;
    const int64_t fitting = kBlockBytes / (span_cols * static_cast<int64_t>(sizeof(float)));
    int block = static_cast<int>(fitting < kMaxBlockTokens ? fitting : kMaxBlockTokens) / kTile * kTile;
    if (block < kTile) block = kTile;
    const int block_rows = one_span ? op.rows : kMaxCarryTiles / (block / kTile);
    for (int first = 0; first < op.tokens; first += block) {
        const int tokens = first + block < op.tokens ? block : op.tokens - first;
        const float* x[kMaxBlockTokens];
        for (int t = 0; t < tokens; ++t) {
            const int64_t row = op.x_rows != nullptr ? op.x_rows[first + t] : first + t;
            x[t] = op.x + row * op.x_stride;
        }
        for (int row = 0; row < op.rows; row += block_rows) {
            const int rows = row + block_rows < op.rows ? block_rows : op.rows - row;
            dot_block<Weights>(op, row, rows, x, first, tokens, span_cols);
        }
    }
}

template <class Weights>
void unpack(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values) {
    int64_t i = 0;
    for (; i + Weights::kStep <= count; i += Weights::kStep, weights += Weights::kStepBytes) {
        const typename Weights::Scale scale = Weights::scale(weights, block_scales, i);
#pragma GCC unroll 16
        for (int v = 0; v < Weights::kStep / kLanes; ++v) {
            store(values + i + v * kLanes, Weights::load(weights, v, scale));
        }
    }
    for (; i < count; i += kLanes, weights += kVectorBytes<Weights>) {
        const int rest = static_cast<int>(count - i < kLanes ? count - i : kLanes);
        store_first(values + i, Weights::load_tail(weights, rest), rest);
    }
}

}  // namespace

// What few tokens meet was not unpacked for them.
void dot_f32(const DotProducts& op) { op.tokens <= kTile ? dot<F32RowOf<true>>(op) : dot<F32Row>(op); }
void dot_f16(const DotProducts& op) { dot<F16Row>(op); }
void dot_bf16(const DotProducts& op) { dot<Bf16Row>(op); }
void dot_q8_0(const DotProducts& op) { dot<Q8_0Row>(op); }
void dot_f8_e4m3(const DotProducts& op) { dot<F8E4m3Row>(op); }
// Part by part of rows that share their scales.
void dot_f8_e4m3_blocks(const DotProducts& op) {
    DotProducts part = op;
    for (int row = 0; row < op.rows; row += part.rows) {
        const int scale_row = (op.sharing_before + row) / F8E4m3BlocksRow::kSharingRows;
        const int end = (scale_row + 1) * F8E4m3BlocksRow::kSharingRows - op.sharing_before;
        part.rows = (end < op.rows ? end : op.rows) - row;
        part.w = op.w + row * op.row_bytes;
        part.block_scales = op.block_scales + scale_row * op.scale_row_bytes;
        part.y = op.y + row;
        dot<F8E4m3BlocksRow>(part);
    }
}

void unpack_f32(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values) {
    unpack<F32Row>(weights, block_scales, count, values);
}
void unpack_f16(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values) {
    unpack<F16Row>(weights, block_scales, count, values);
}
void unpack_bf16(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values) {
    unpack<Bf16Row>(weights, block_scales, count, values);
}
void unpack_q8_0(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values) {
    unpack<Q8_0Row>(weights, block_scales, count, values);
}
void unpack_f8_e4m3(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values) {
    unpack<F8E4m3Row>(weights, block_scales, count, values);
}
void unpack_f8_e4m3_blocks(const std::byte* weights, const std::byte* block_scales, int64_t count, float* values) {
    unpack<F8E4m3BlocksRow>(weights, block_scales, count, values);
}

}  // namespace octavo::OCTAVO_ISA
