// Formats whose codes index the levels of a Lloyd-Max quantiser, a scale per 32 values.
#include "kernels/cpu/isa/kv_codes.h"
#include "kernels/cpu/isa/kv_encode.h"
#include "kernels/cpu/isa/kv_lanes.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

// Levels and the boundaries between them: code c where boundary[c - 1] <= x / d < boundary[c].
template <int Levels>
struct Codebook {
    float level[Levels];
    float boundary[Levels - 1];
};

constexpr Codebook<4> kTwoBits = {{kQ2Levels[0], kQ2Levels[1], kQ2Levels[2], kQ2Levels[3]},
                                  {-kQ2Boundary, 0.0f, kQ2Boundary}};

constexpr Codebook<16> four_bits() {  // boundaries halfway
    Codebook<16> book{};
    for (int i = 0; i < 16; ++i) book.level[i] = kFourBitLevels[i];
    for (int i = 0; i < 15; ++i) book.boundary[i] = (kFourBitLevels[i] + kFourBitLevels[i + 1]) * 0.5f;
    return book;
}
constexpr Codebook<16> kFourBits = four_bits();

// The level of x / d; d = 0 gives the lowest.
template <int Levels>
VecF level_of(VecF x, VecF d, const Codebook<Levels>& book) {
    const VecF t = div(x, d);
    VecF level = set1(book.level[0]);
    for (int i = 1; i < Levels; ++i) level = select_ge(t, set1(book.boundary[i - 1]), set1(book.level[i]), level);
    return select_eq(d, zero(), set1(book.level[0]), level);
}

template <int Levels>
VecF code_of_level(VecF level, const Codebook<Levels>& book) {
    VecF code = zero();
    for (int i = 1; i < Levels; ++i) code = select_ge(level, set1(book.level[i]), set1(static_cast<float>(i)), code);
    return code;
}

// Root mean square of every run as float16 holds it; flags where that is too large.
VecF run_rms(const LaneRuns& runs, VecF& rms) {
    VecF sum = zero();
    for (const auto& x : runs.x) sum = add(sum, mul(load(x), load(x)));
    const VecF exact = sqrt(div(sum, set1(kKvBlock)));
    uint16_t bits[kLanes];
    rms = round_scale(exact, bits);
    return misfits(exact);
}

// Levels under scale d, into runs.code; then d and runs.scale are refitted to them. Flags where that is too large.
template <int Levels>
VecF assign_and_refit(LaneRuns& runs, VecF& d, const Codebook<Levels>& book) {
    VecF xq = zero();
    VecF qq = zero();
    for (int i = 0; i < kKvBlock; ++i) {
        const VecF x = load(runs.x[i]);
        const VecF level = level_of(x, d, book);
        store(runs.code[i], level);
        xq = add(xq, mul(x, level));
        qq = add(qq, mul(level, level));
    }
    const VecF refit = div(xq, qq);
    d = round_scale(select_eq(d, zero(), zero(), refit), runs.scale);
    return misfits(refit);
}

// runs.code: levels become codes, 0 where the scale is 0.
template <int Levels>
void levels_to_codes(LaneRuns& runs, VecF d, const Codebook<Levels>& book) {
    for (auto& code : runs.code) store(code, select_eq(d, zero(), zero(), code_of_level(load(code), book)));
}

VecF encode_two_bits(LaneRuns& runs) {
    VecF d;
    VecF bad = run_rms(runs, d);
    bad = add(bad, assign_and_refit(runs, d, kTwoBits));
    levels_to_codes(runs, d, kTwoBits);
    return bad;
}

VecF squared_error(const LaneRuns& runs, VecF d) {
    VecF sum = zero();
    for (int i = 0; i < kKvBlock; ++i) {
        const VecF error = sub(load(runs.x[i]), mul(d, load(runs.code[i])));
        sum = add(sum, mul(error, error));
    }
    return sum;
}

// Starting scales around the run's RMS, each refitted; the smallest squared error wins, the earlier start on a tie.
VecF encode_four_bits(LaneRuns& runs) {
    constexpr float kStarts[] = {0.7f, 0.75f, 0.8f, 0.85f, 0.9f, 0.95f, 1.0f, 1.05f, 1.1f, 1.15f, 1.2f, 1.25f, 1.3f};
    VecF rms;
    VecF bad = run_rms(runs, rms);
    VecF best_start = zero();
    VecF best_error = set1(__builtin_inff());
    for (const float start : kStarts) {
        const VecF exact = mul(rms, set1(start));
        uint16_t bits[kLanes];
        const VecF first = round_scale(exact, bits);
        VecF d = first;
        bad = add(bad, add(misfits(exact), assign_and_refit(runs, d, kFourBits)));
        const VecF error = squared_error(runs, d);
        best_start = select_ge(error, best_error, best_start, first);
        best_error = min(error, best_error);
    }
    VecF d = best_start;
    bad = add(bad, assign_and_refit(runs, d, kFourBits));
    levels_to_codes(runs, d, kFourBits);
    return bad;
}

// Blocks that lie one after another; encode(runs) leaves scales and codes, pack(runs, out) the bytes.
template <int Bytes, class Encode, class Pack>
bool encode_blocks(const KvEncodeRows& op, Encode encode, Pack pack) {
    const int64_t blocks = op.rows * op.head_dim / kKvBlock;
    VecF bad = zero();
    LaneRuns runs;
    LaneBytes<Bytes> out;
    for (int64_t first = 0; first < blocks; first += kLanes) {
        const int count = blocks - first < kLanes ? static_cast<int>(blocks - first) : kLanes;
        load_runs(op.x + first * kKvBlock, count, runs);
        bad = add(bad, encode(runs));
        pack(runs, out);
        for (int lane = 0; lane < count; ++lane) {
            op.scales[first + lane] = runs.scale[lane];
            out.write(lane, op.payload + (first + lane) * Bytes);
        }
    }
    return none_set(bad);
}

}  // namespace

bool encode_q2t(const KvEncodeRows& op) { return encode_blocks<8>(op, encode_two_bits, pack_pairs); }

bool encode_q4_nl(const KvEncodeRows& op) { return encode_blocks<16>(op, encode_four_bits, pack_nibbles); }

// Lanes are channels here: they lie side by side in every cell. head_dim is a multiple of 16, and so of kLanes.
bool encode_kv_group(const KvEncodeGroup& op) {
    VecF bad = zero();
    LaneRuns runs;
    LaneBytes<8> out;
    for (int channel = 0; channel < op.head_dim; channel += kLanes) {
        for (int cell = 0; cell < kTileCells; ++cell) {
            uint16_t halves[kLanes];
            const bool open = cell < op.open_cells;
            if (!open) store_f16(halves, load(op.fresh + (cell - op.open_cells) * op.row_stride + channel));
            store(runs.x[cell], load_f16(open ? op.open + cell * op.row_stride + channel : halves));
        }
        bad = add(bad, encode_two_bits(runs));
        pack_pairs(runs, out);
        for (int lane = 0; lane < kLanes; ++lane) {
            op.scales[channel + lane] = runs.scale[lane];
            out.write(lane, op.payload + (channel + lane) * 8);
        }
    }
    return none_set(bad);
}

}  // namespace octavo::OCTAVO_ISA
