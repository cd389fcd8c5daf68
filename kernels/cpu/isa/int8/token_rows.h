// Products of rows with a single token, summed up while the weights are unpacked: no tile is written. What happens in
// each lane is what multiply.cpp does, but for the order of whole-number sums, so the result has the same bits.
#pragma once

#include "kernels/cpu/isa/int8/tile.h"

namespace octavo::OCTAVO_ISA {

// What an unpacker fills (see TileRows).
template <class Type>
struct TokenRows {
    static constexpr TileForm kForm = Type::kForm;
    static constexpr int kStretches = Type::kStep / kForm.stretch;
    const Int8Block* x;
    VecI sums[kStretches];
    VecF scales[kStretches];
    VecF minima[kForm.minima ? kStretches : 1];

    explicit TokenRows(const Int8Block* blocks) : x(blocks) {
#pragma GCC unroll 16
        for (int stretch = 0; stretch < kStretches; ++stretch) sums[stretch] = set1_int(0);
    }

    void codes(int index, VecI four_columns) {
        const int stretch = 4 * index / kForm.stretch;
        const VecI values = broadcast4(x[index / 8].codes + 4 * (index % 8));
        sums[stretch] =
            kForm.wide ? dot4_wide(sums[stretch], four_columns, values) : dot4(sums[stretch], four_columns, values);
    }
    void scale(int stretch, VecF scale) { scales[stretch] = scale; }
    void minimum(int stretch, VecF minimum) { minima[stretch] = minimum; }

    // total + products with the blocks.
    VecF add_to(VecF total) const {
        constexpr int kPerBlock = kInt8Block / kForm.stretch;
#pragma GCC unroll 16
        for (int block = 0; block < Type::kStep / kInt8Block; ++block) {
            VecF part = zero();
            for (int i = 0; i < kPerBlock; ++i) {
                const int stretch = block * kPerBlock + i;
                const VecF negative_sum = set1(kPerBlock == 1 ? x[block].negative_sum : x[block].negative_half_sums[i]);
                VecF whole = to_float(sums[stretch]);
                if constexpr (!kForm.minima) whole = fma(set1(kForm.zero), negative_sum, whole);
                part = fma(whole, scales[stretch], part);
                if constexpr (kForm.minima) part = fma(negative_sum, minima[stretch], part);
            }
            total = fma(part, set1(x[block].scale), total);
        }
        return total;
    }
};

}  // namespace octavo::OCTAVO_ISA
