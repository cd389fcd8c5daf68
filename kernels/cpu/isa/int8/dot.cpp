// Products of low-bit weight rows with quantised tokens: a tile of weights is unpacked once and multiplied with every
// token of a block. With one token that is a stream through the weights, with many a matrix product out of the cache.
#include "kernels/cpu/isa/int8/grid_blocks.h"
#include "kernels/cpu/isa/int8/k_quants.h"
#include "kernels/cpu/isa/int8/nibble_blocks.h"
#include "kernels/cpu/isa/int8/quantise.h"
#include "kernels/cpu/isa/int8/ternary_blocks.h"
#include "kernels/cpu/isa/int8/token_rows.h"

namespace octavo::OCTAVO_ISA {

namespace {

constexpr int kBlockTokens = 96;

template <class Type>
constexpr MultiplyTile* multiply_of() {
    constexpr TileForm form = Type::kForm;
    static_assert(!form.wide || (form.stretch == 32 && !form.minima));
    if constexpr (form.wide) return multiply_wide_32;
    if constexpr (form.minima)
        return form.stretch == 16 ? multiply_minima_16 : multiply_minima_32;
    else
        return form.stretch == 16 ? multiply_zero_16 : multiply_zero_32;
}

// One step of some rows, as unpackers take it. Of types that keep them there, block scales lie apart.
struct StepRows {
    const std::byte* w;
    int64_t row_bytes;
    const std::byte* scales;
    int64_t scale_row_bytes;

    StepRows from(int row) const {
        return {w + row * row_bytes, row_bytes, scales + row * scale_row_bytes, scale_row_bytes};
    }
};

template <class Type>
constexpr int kStepScales = 0;  // bytes of them in a step
template <>
constexpr int kStepScales<Nvfp4ApartTile> = Nvfp4ApartTile::kScaleBytes;

template <class Type, class Rows>
inline void unpack(const StepRows& step, Rows& out) {
    if constexpr (kStepScales < Type >> 0)
        Type::unpack(step.w, step.row_bytes, step.scales, step.scale_row_bytes, out);
    else
        Type::unpack(step.w, step.row_bytes, out);
}

// The steps of up to GroupRows rows, one after the other. Rows that are missing at the end of a matrix are zeros.
template <class Type, int GroupRows>
class Steps {
  public:
    Steps(const DotProducts& op, int first_row)
        : rows_(op.rows - first_row < GroupRows ? op.rows - first_row : GroupRows),
          next_{op.w + first_row * op.row_bytes, op.row_bytes, op.block_scales + first_row * op.scale_row_bytes,
                op.scale_row_bytes} {
        if (rows_ == GroupRows) return;
        __builtin_memset(rest_, 0, sizeof rest_);
        __builtin_memset(rest_scales_, 0, sizeof rest_scales_);
    }
    int rows() const { return rows_; }
    StepRows take() {
        const StepRows step = next_;
        next_.w += Type::kBytes;
        next_.scales += kScales;
        if (rows_ == GroupRows) return step;
        for (int r = 0; r < rows_; ++r) {
            const StepRows row = step.from(r);
            __builtin_memcpy(rest_ + r * Type::kBytes, row.w, Type::kBytes);
            if constexpr (kScales > 0) __builtin_memcpy(rest_scales_ + r * kScales, row.scales, kScales);
        }
        return {rest_, Type::kBytes, rest_scales_, kScales};
    }

  private:
    static constexpr int kScales = kStepScales<Type>;
    int rows_;
    StepRows next_;
    std::byte rest_[GroupRows * Type::kBytes];
    std::byte rest_scales_[kScales > 0 ? GroupRows* kScales : 1];
};

// total + products of kLanes rows' step with the blocks at x (see token_rows.h).
template <class Type>
inline VecF add_step(const StepRows& step, const Int8Block* x, VecF total) {
    TokenRows<Type> rows(x);
    unpack<Type>(step, rows);
    return rows.add_to(total);
}

// Asks for the weights of a product in the order of memory, a group of rows before they are read: many short streams
// hide from the hardware that they make one long one. While the last group is read, for what comes after it.
class Fetch {
  public:
    Fetch(const DotProducts& op, int group_rows)
        : next_(op.w), end_(op.w + op.rows * op.row_bytes), after_(op.next_w), after_bytes_(op.next_bytes) {
        lines(group_rows * op.row_bytes);
    }
    void lines(int64_t bytes) {
        const int64_t left = end_ - next_;
        const std::byte* to = next_ + (bytes < left ? bytes : left);
        for (; next_ < to; next_ += kCacheLine) __builtin_prefetch(next_);
        if (next_ < end_) return;
        next_ = after_;
        end_ = after_ + after_bytes_;
        after_bytes_ = 0;
    }

  private:
    static constexpr int64_t kCacheLine = 64;
    const std::byte* next_;
    const std::byte* end_;
    const std::byte* after_;
    int64_t after_bytes_;
};

// y = scale * sums, or +=.
void store_sums(const DotProducts& op, const float* sums, int rows, float* y) {
    for (int r = 0; r < rows; ++r) y[r] = (op.accumulate ? y[r] : 0.0f) + op.scale * sums[r];
}

const Int8Block* token_row(const DotProducts& op, int token) {
    return op.x_int8 + (op.x_rows != nullptr ? op.x_rows[token] : token) * (op.cols / kInt8Block);
}

// Whether a single token is worth code of its own: not where unpacking is scalar code anyway, or a loop over bytes.
template <class Type>
constexpr bool sums_while_unpacking = kLanes > 4;
template <class Block>
constexpr bool sums_while_unpacking<GridTile<Block>> = false;

template <class Type>
constexpr int kStepBlocks = Type::kStep / kInt8Block;

template <class Type>
void dot_token(const DotProducts& op, int token) {
    Fetch fetch(op, kLanes);
    for (int row = 0; row < op.rows; row += kLanes) {
        Steps<Type, kLanes> steps(op, row);
        const Int8Block* x = token_row(op, token);
        VecF total = zero();
        for (int64_t col = 0; col < op.cols; col += Type::kStep, x += kStepBlocks<Type>) {
            fetch.lines(kLanes * Type::kBytes);
            total = add_step<Type>(steps.take(), x, total);
        }
        float sums[kLanes];
        store(sums, total);
        store_sums(op, sums, steps.rows(), op.y + token * op.y_stride + row);
    }
}

// Up to kBlockTokens tokens.
template <class Type>
void dot_tokens(const DotProducts& op, int first_token, int tokens) {
    Fetch fetch(op, kTileRows);
    for (int row = 0; row < op.rows; row += kTileRows) {
        alignas(64) float sums[kBlockTokens][kTileRows];
        const Int8Block* x[kBlockTokens];
        for (int t = 0; t < tokens; ++t) {
            x[t] = token_row(op, first_token + t);
            for (float& sum : sums[t]) sum = 0;
        }
        Steps<Type, kTileRows> steps(op, row);
        Tile tile;
        for (int64_t col = 0; col < op.cols; col += Type::kStep) {
            fetch.lines(kTileRows * Type::kBytes);
            const StepRows step = steps.take();
            for (int v = 0; v < kRowVectors; ++v) {
                TileRows rows = {tile, v};
                unpack<Type>(step.from(v * kLanes), rows);
            }
            multiply_of<Type>()(tile, Type::kForm.zero, kStepBlocks<Type>, x, tokens, sums[0]);
            for (int t = 0; t < tokens; ++t) x[t] += kStepBlocks<Type>;
        }
        for (int t = 0; t < tokens; ++t) {
            store_sums(op, sums[t], steps.rows(), op.y + (first_token + t) * op.y_stride + row);
        }
    }
}

template <class Type>
void dot(const DotProducts& op) {
    if constexpr (sums_while_unpacking<Type>) {
        if (op.tokens == 1) return dot_token<Type>(op, 0);
    }
    for (int first = 0; first < op.tokens; first += kBlockTokens) {
        const int left = op.tokens - first;
        dot_tokens<Type>(op, first, left < kBlockTokens ? left : kBlockTokens);
    }
}

}  // namespace

const Int8Kernels& int8_kernels() {
    static const Int8Kernels table = [] {
        Int8Kernels kernels = {.quantise = quantise, .dot = {}};
        const auto add = [&](WeightType type, void (*dot)(const DotProducts&)) {
            kernels.dot[static_cast<int>(type)] = dot;
        };
        add(WeightType::q4_0, dot<Q4_0Tile>);
        add(WeightType::q4_1, dot<Q4_1Tile>);
        add(WeightType::q5_0, dot<Q5_0Tile>);
        add(WeightType::q5_1, dot<Q5_1Tile>);
        add(WeightType::q2_k, dot<Q2_KTile>);
        add(WeightType::q3_k, dot<Q3_KTile>);
        add(WeightType::q4_k, dot<Q4_KTile>);
        add(WeightType::q5_k, dot<Q5_KTile>);
        add(WeightType::q6_k, dot<Q6_KTile>);
        add(WeightType::iq4_nl, dot<Iq4NlTile>);
        add(WeightType::iq4_xs, dot<Iq4XsTile>);
        add(WeightType::iq3_s, dot<GridTile<Iq3SBlock>>);
        add(WeightType::iq3_xxs, dot<GridTile<Iq3XxsBlock>>);
        add(WeightType::iq2_xxs, dot<GridTile<Iq2XxsBlock>>);
        add(WeightType::iq2_xs, dot<GridTile<Iq2XsBlock>>);
        add(WeightType::iq2_s, dot<GridTile<Iq2SBlock>>);
        add(WeightType::iq1_s, dot<GridTile<Iq1SBlock>>);
        add(WeightType::iq1_m, dot<GridTile<Iq1MBlock>>);
        add(WeightType::mxfp4, dot<Mxfp4Tile>);
        add(WeightType::nvfp4, dot<Nvfp4Tile>);
        add(WeightType::tq1_0, dot<GridTile<Tq1_0Block>>);
        add(WeightType::tq2_0, dot<Tq2_0Tile>);
        add(WeightType::q1_0, dot<Q1_0Tile>);
        add(WeightType::q2_0, dot<Q2_0Tile>);
        add(WeightType::nvfp4_apart, dot<Nvfp4ApartTile>);
        return kernels;
    }();
    return table;
}

}  // namespace octavo::OCTAVO_ISA
