// Products of low-bit weights with activations rounded to 8 bits: what they compute exactly, for every instruction set.
// Closeness to the reference, which rounds nothing, is in backend_parity_test.cpp.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"

namespace octavo {
namespace {

using namespace test;

constexpr WeightType kTypes[] = {
    // clang-format off
    WeightType::q4_0, WeightType::q4_1, WeightType::q5_0, WeightType::q5_1,
    WeightType::q2_k, WeightType::q3_k, WeightType::q4_k, WeightType::q5_k, WeightType::q6_k,
    WeightType::iq4_nl, WeightType::iq4_xs, WeightType::iq3_s, WeightType::iq3_xxs, WeightType::iq2_xxs,
    WeightType::iq2_xs, WeightType::iq2_s, WeightType::iq1_s, WeightType::iq1_m,
    WeightType::mxfp4, WeightType::nvfp4, WeightType::nvfp4_apart,
    WeightType::tq1_0, WeightType::tq2_0, WeightType::q1_0, WeightType::q2_0,
    // clang-format on
};

constexpr int kBlock = 32;

// Columns that kernels take together.
int step_of(WeightType type) { return type == WeightType::nvfp4_apart ? 64 : weight_type_spec(type).block_values; }

// x as the products see it: blocks of 32, each a whole number of -127 to 127 times the largest |x| / 127.
std::vector<float> rounded(const std::vector<float>& x) {
    std::vector<float> result;
    for (size_t first = 0; first < x.size(); first += kBlock) {
        float largest = 0;
        for (size_t i = first; i < first + kBlock; ++i) largest = std::max(largest, std::fabs(x[i]));
        const float scale = largest / 127.0f;
        for (size_t i = first; i < first + kBlock; ++i) {
            const float code = scale > 0 ? std::nearbyint(x[i] / scale) : 0.0f;
            result.push_back(scale * std::clamp(code, -127.0f, 127.0f));
        }
    }
    return result;
}

struct Variant {
    const char* name;
    CpuIsa isa;
    bool dot_instructions;
};
constexpr Variant kVariants[] = {{"generic", CpuIsa::generic, false},
                                 {"avx2", CpuIsa::avx2, false},
                                 {"avx_vnni", CpuIsa::avx2, true},
                                 {"avx512_vnni", CpuIsa::avx512, true}};

class CpuInt8 : public testing::TestWithParam<Variant> {
  protected:
    void SetUp() override {
        if (GetParam().isa > detect_cpu_isa()) GTEST_SKIP() << "this machine lacks the instruction set";
        one_thread_ = make_cpu_backend(1, GetParam().isa, GetParam().dot_instructions);
        three_threads_ = make_cpu_backend(3, GetParam().isa, GetParam().dot_instructions);
    }

    std::unique_ptr<Backend> one_thread_;
    std::unique_ptr<Backend> three_threads_;
};

std::vector<float> multiply(Backend& backend, const Matrix& w, const std::vector<float>& x, int step) {
    const int tokens = static_cast<int>(static_cast<int64_t>(x.size()) / w.cols);
    std::vector<float> y(static_cast<size_t>(tokens * w.rows), 0.5f);
    for (int first = 0; first < tokens; first += step) {
        const MatmulTarget target = {.w = w, .y = y.data() + first * w.rows, .y_stride = w.rows, .accumulate = true};
        backend.matmul(x.data() + first * w.cols, std::min(step, tokens - first), {&target, 1});
    }
    return y;
}

// Rows and tokens are every residue of the tiles that kernels work in (at most 32 by 6); columns one and more blocks.
TEST_P(CpuInt8, RoundsActivationsAndNothingElse) {
    for (const WeightType type : kTypes) {
        const int block = step_of(type);
        for (const InputFamily family : all_input_families()) {
            for (const auto& [rows, cols, tokens] : {std::tuple(33, block, 1),
                                                     {1, 3 * block, 6},
                                                     {17, 2 * block, 7},
                                                     {64, block, 5},
                                                     {15, 4 * block, 101},
                                                     {8, block, 4}}) {
                SCOPED_TRACE(testing::Message() << weight_type_spec(type).name << ", " << input_family_name(family)
                                                << ", " << rows << " x " << cols << ", tokens " << tokens);
                const TestMatrix w(type, rows, cols, InputFamily::outliers, 1);
                const std::vector<float> values = w.decoded();
                const std::vector<float> x = make_input(family, int64_t{tokens} * cols, 2);
                const std::vector<float> seen = rounded(x);
                std::vector<float> want;
                std::vector<double> bounds;
                for (int t = 0; t < tokens; ++t) {
                    for (int r = 0; r < rows; ++r) {
                        double sum = 0.5, magnitude = 0.5;
                        for (int i = 0; i < cols; ++i) {
                            const double product = static_cast<double>(seen[t * cols + i]) * values[r * cols + i];
                            sum += product;
                            magnitude += std::fabs(product);
                        }
                        want.push_back(static_cast<float>(sum));
                        bounds.push_back(1e-5 * magnitude);  // codes and minima may cancel
                    }
                }
                EXPECT_TRUE(within_bounds(multiply(*one_thread_, w.view(), x, tokens), want, bounds,
                                          {{"token", tokens}, {"row", rows}}));
            }
        }
    }
}

TEST_P(CpuInt8, ATokensProductsDoNotDependOnTheCall) {
    for (const WeightType type : kTypes) {
        SCOPED_TRACE(weight_type_spec(type).name);
        const int64_t cols = std::max(512, 3 * step_of(type));
        const TestMatrix w(type, 75, cols, InputFamily::gaussian, 1);
        const int tokens = 107;
        const std::vector<float> x = make_input(InputFamily::gaussian, tokens * cols, 2);
        const std::vector<float> whole = multiply(*one_thread_, w.view(), x, tokens);
        for (const int step : {1, 2, 3, 4, 5, 6, 7, 50}) {
            EXPECT_TRUE(
                same_bits(multiply(*three_threads_, w.view(), x, step), whole, {{"token", tokens}, {"row", 75}}))
                << step << " tokens a call";
        }
        const std::unique_ptr<Backend> plain = make_cpu_backend(1, GetParam().isa, false);
        EXPECT_TRUE(same_bits(multiply(*plain, w.view(), x, tokens), whole, {{"token", tokens}, {"row", 75}}))
            << "without instructions for products of bytes";
    }
}

TEST_P(CpuInt8, WhatIsNotFiniteStaysSo) {
    for (const WeightType type : kTypes) {
        SCOPED_TRACE(weight_type_spec(type).name);
        const int64_t cols = 2 * step_of(type);
        const TestMatrix w(type, 5, cols, InputFamily::gaussian, 1);
        for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
            std::vector<float> x(static_cast<size_t>(cols), 1.0f);
            x[static_cast<size_t>(cols) - 7] = bad;
            for (const float y : multiply(*one_thread_, w.view(), x, 1)) EXPECT_FALSE(std::isfinite(y));
        }
    }
}

TEST_P(CpuInt8, ScalesThatAreNoNumbersStaySo) {
    constexpr int64_t kRows = 5, kCols = 128, kBadRow = 3;
    const std::vector<float> x(static_cast<size_t>(kCols), 1.0f);
    for (const std::byte bad : {std::byte{0x7f}, std::byte{0xff}}) {
        const auto expect_bad_row = [&](const Matrix& w) {
            const std::vector<float> y = multiply(*one_thread_, w, x, 1);
            for (int64_t r = 0; r < kRows; ++r)
                EXPECT_EQ(std::isnan(y[static_cast<size_t>(r)]), r == kBadRow) << weight_type_spec(w.type).name << r;
        };
        std::vector<std::byte> codes(kRows * kCols / 2, std::byte{0x22});
        std::vector<std::byte> scales(kRows * kCols / 16, std::byte{0x38});
        scales[kBadRow * kCols / 16 + 2] = bad;
        expect_bad_row({WeightType::nvfp4_apart, codes.data(), kRows, kCols, 1, scales.data()});
        std::vector<std::byte> blocks(kRows * kCols / 64 * 36, std::byte{0x22});
        blocks[(kBadRow * kCols / 64 + 1) * 36 + 3] = bad;
        expect_bad_row({WeightType::nvfp4, blocks.data(), kRows, kCols});
    }
}

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

INSTANTIATE_TEST_SUITE_P(Variants, CpuInt8, testing::ValuesIn(kVariants),
                         [](const testing::TestParamInfo<Variant>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace octavo
