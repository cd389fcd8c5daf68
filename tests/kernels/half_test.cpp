#include "kernels/base/half.h"

#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/random.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octavo {
namespace {

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// The value of a float16 by its definition, in double.
double f16_by_definition(f16_bits half) {
    const int exponent = (half >> 10) & 0x1f;
    const int mantissa = half & 0x3ff;
    const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

bool is_f16_special(int half) { return (half & 0x7c00) == 0x7c00; }

TEST(Half, EveryFloat16IsExactAndComesBack) {
    for (int half = 0; half < 0x10000; ++half) {
        const f16_bits bits = static_cast<f16_bits>(half);
        const float value = f16_to_f32(bits);
        if (!is_f16_special(half)) {
            ASSERT_EQ(value, f16_by_definition(bits)) << std::hex << half;
        }
        if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value)))) << std::hex << half;
        } else {
            ASSERT_EQ(f32_to_f16(value), bits) << std::hex << half;
        }
    }
    EXPECT_EQ(f16_to_f32(0x7c00), std::numeric_limits<float>::infinity());
    EXPECT_EQ(f16_to_f32(0xfc00), -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
}

TEST(Half, EveryBfloat16ComesBack) {
    for (int half = 0; half < 0x10000; ++half) {
        const float value = bf16_to_f32(static_cast<bf16_bits>(half));
        ASSERT_EQ(bits_of(value), static_cast<uint32_t>(half) << 16);
        if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value)))) << std::hex << half;
        } else {
            ASSERT_EQ(f32_to_bf16(value), half) << std::hex << half;
        }
    }
}

// Between two neighbours: the middle goes to the even one, a hair beside it to the nearer one.
TEST(Half, Float16RoundsToNearestEven) {
    for (int half = 0; half < 0x7bff; ++half) {
        const float low = f16_to_f32(static_cast<f16_bits>(half));
        const float high = f16_to_f32(static_cast<f16_bits>(half + 1));
        const float middle = low + (high - low) / 2;
        ASSERT_EQ(f32_to_f16(middle), half % 2 == 0 ? half : half + 1) << std::hex << half;
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, low)), half) << std::hex << half;
        ASSERT_EQ(f32_to_f16(std::nextafter(middle, high)), half + 1) << std::hex << half;
        ASSERT_EQ(f32_to_f16(-middle), 0x8000 | (half % 2 == 0 ? half : half + 1)) << std::hex << half;
    }
    EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);  // below the middle of the largest and what would follow
    EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
    EXPECT_EQ(f32_to_f16(0x1p-25f), 0);  // half of the smallest: to even, which is zero
    EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 1);
}

TEST(Half, Bfloat16RoundsToNearestEven) {
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7f7fffffu)), 0x7f80);  // the largest float32 becomes infinity
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x00008001u)), 0x0001);
}

#if defined(__x86_64__)

__attribute__((target("f16c"))) f16_bits hardware_f16(float value) {
    return static_cast<f16_bits>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}

TEST(Half, Float16IsWhatTheProcessorSays) {
    if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this processor has no float16 conversions";
    std::vector<uint32_t> patterns;
    test::Random random(1);
    for (int i = 0; i < 300000; ++i) patterns.push_back(static_cast<uint32_t>(random.next()));
    for (uint32_t exponent = 0; exponent < 256; ++exponent) {  // every exponent, around every rounding edge
        for (const uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x7fffffu}) {
            patterns.push_back((exponent << 23) | low);
            patterns.push_back(0x80000000u | (exponent << 23) | low);
        }
    }
    for (const uint32_t pattern : patterns) {
        const float value = std::bit_cast<float>(pattern);
        ASSERT_EQ(f32_to_f16(value), hardware_f16(value)) << std::hex << pattern;
    }
}

#endif

}  // namespace
}  // namespace octavo
