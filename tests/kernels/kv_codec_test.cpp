// Golden bytes of every KV layout, worked out by hand from the definitions.
#include "kernels/kv_codec.h"
#include "kernels/base/float8.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/kv_format.h"

namespace octavo {
namespace {

struct Encoded {
    bool ok = false;
    std::vector<int> bytes;
    std::vector<float> scales;
};

Encoded encode(const KvCodec& codec, std::vector<float> x, KvEncoder encoder = KvEncoder::reference) {
    std::vector<std::byte> payload(x.size() * 4, std::byte{0xcc});
    std::vector<f16_bits> scales(x.size() / 32 + 1);
    Encoded result;
    result.ok = codec.encode(x.data(), static_cast<int>(x.size()), payload.data(), scales.data(), encoder);
    for (std::byte b : payload) result.bytes.push_back(std::to_integer<int>(b));
    for (f16_bits s : scales) result.scales.push_back(f16_to_f32(s));
    return result;
}

std::vector<float> block(std::vector<float> head, size_t count = 32) {
    head.resize(count, 0.0f);
    return head;
}

std::vector<float> decode(const KvCodec& codec, const Encoded& encoded, int count) {
    std::vector<std::byte> payload;
    for (int b : encoded.bytes) payload.push_back(static_cast<std::byte>(b));
    std::vector<f16_bits> scales;
    for (float s : encoded.scales) scales.push_back(f32_to_f16(s));
    std::vector<float> x(static_cast<size_t>(count));
    codec.decode(payload.data(), scales.data(), count, x.data());
    return x;
}

TEST(KvCodecGolden, Q8_0RoundsHalfAwayFromZero) {
    const Encoded e = encode(kv_codec::q8_0, block({127, -127, 63.5f, -0.5f, 0.49f}));
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.scales[0], 1.0f);
    EXPECT_EQ(std::vector<int>(e.bytes.begin(), e.bytes.begin() + 5), (std::vector<int>{127, 0x81, 64, 0xff, 0}));
}

TEST(KvCodecGolden, E4m3Codes) {
    const Encoded e = encode(kv_codec::fp8_e4m3, block({448, 1, -1.125f, 0x1p-9f, 0x1p-10f, 0x1.8p-9f}));
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.scales[0], 1.0f);
    // 2^-10 is halfway between 0 and the smallest subnormal, 1.5 2^-9 halfway between the first two: even wins.
    EXPECT_EQ(std::vector<int>(e.bytes.begin(), e.bytes.begin() + 6), (std::vector<int>{0x7e, 0x38, 0xb9, 1, 0, 2}));
}

TEST(KvCodecGolden, E4m3RoundTripsEveryCode) {
    for (int code = 0; code < 256; ++code) {
        if ((code & 0x7f) == 0x7f) continue;  // NaN, never written
        EXPECT_EQ(f32_to_e4m3(e4m3_to_f32(static_cast<uint8_t>(code))), code);
    }
    EXPECT_EQ(f32_to_e4m3(1e9f), 0x7e);
    EXPECT_EQ(f32_to_e4m3(-1e9f), 0xfe);
}

TEST(KvCodecGolden, Q6_0PlanesAndSignExtension) {
    std::vector<float> x = block({31, -31, 5, -1}, 64);
    x[32] = 31;
    x[33] = -30;
    const Encoded e = encode(kv_codec::q6_0, x);
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.bytes[0], 0x1f);   // 31 = 01 1111, -31 = 10 0001
    EXPECT_EQ(e.bytes[1], 0xf5);   // 5 = 00 0101, -1 = 11 1111
    EXPECT_EQ(e.bytes[16], 0x2f);  // second block's low plane follows the first's: 31, -30 = 10 0010
    EXPECT_EQ(e.bytes[32], 1 | 2 << 2 | 0 << 4 | 3 << 6);  // then all high planes
    EXPECT_EQ(e.bytes[40], 1 | 2 << 2);
    EXPECT_EQ(decode(kv_codec::q6_0, e, 64), x);
}

TEST(KvCodecGolden, Q4_0ReferenceDividesByEightAndClamps) {
    const Encoded e = encode(kv_codec::q4_0, block({8, -8, 3, -1}));
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.scales[0], 1.0f);
    EXPECT_EQ(e.bytes[0], 0x87);  // 8 clamps to 7 in the low nibble, -8 in the high one
    EXPECT_EQ(e.bytes[1], 0xf3);
}

TEST(KvCodecGolden, Q4_0RefinedTakesTheSignedExtreme) {
    // Extreme +8: d = -1, so +8 gets code -8 and is exact.
    const Encoded e = encode(kv_codec::q4_0, block({8, -7, 3, -1}), KvEncoder::refined);
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.scales[0], -1.0f);
    EXPECT_EQ(e.bytes[0], 0x78);
    EXPECT_EQ(decode(kv_codec::q4_0, e, 32), block({8, -7, 3, -1}));
}

TEST(KvCodecGolden, Q6rPacksFourCodesInThreeBytes) {
    const Encoded e = encode(kv_codec::q6r, {31, -31, 0, 5});
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.scales[0], 1.0f);
    // u = 63, 1, 32, 37
    EXPECT_EQ(std::vector<int>(e.bytes.begin(), e.bytes.begin() + 3),
              (std::vector<int>{63 | (1 & 3) << 6, 1 >> 2 | (32 & 15) << 4, 32 >> 4 | (37 & 63) << 2}));
    EXPECT_EQ(decode(kv_codec::q6r, e, 4), (std::vector<float>{31, -31, 0, 5}));
}

TEST(KvCodecGolden, Q8rAndQ4rUseOneScale) {
    const Encoded e8 = encode(kv_codec::q8r, block({127, -127, 2}, 64));
    EXPECT_EQ(e8.bytes[1], 0x81);
    EXPECT_EQ(e8.scales[0], 1.0f);
    const Encoded e4 = encode(kv_codec::q4r, {7, -7});
    EXPECT_EQ(e4.bytes[0], 0x97);
    EXPECT_EQ(decode(kv_codec::q4r, e4, 2), (std::vector<float>{7, -7}));
}

TEST(KvCodecGolden, Q2CodesAscendAndTheScaleIsRefitted) {
    std::vector<float> x;
    for (int i = 0; i < 8; ++i) x.insert(x.end(), {-1.510f, -0.4528f, 0.4528f, 1.510f});
    const Encoded e = encode(kv_codec::q2, x);
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.scales[0], 1.0f);  // the RMS is 1.115; least squares brings the scale back to 1
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(e.bytes[i], 0 | 1 << 2 | 2 << 4 | 3 << 6);
    EXPECT_EQ(decode(kv_codec::q2, e, 32), x);
}

TEST(KvCodecGolden, Q4NlIndexesTheCodebook) {
    std::vector<float> x(kQ4NlLevels, kQ4NlLevels + 16);
    x.insert(x.end(), kQ4NlLevels, kQ4NlLevels + 16);
    const Encoded e = encode(kv_codec::q4_nl, x);
    ASSERT_TRUE(e.ok);
    EXPECT_EQ(e.scales[0], 1.0f);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(e.bytes[i], static_cast<int>(2 * i | (2 * i + 1) << 4));
}

TEST(KvCodec, ZeroBlocksGiveZeroBytesAndNonFiniteInputIsRefused) {
    for (const KvFormatSpec& spec : kv_formats()) {
        const Encoded zero = encode(*spec.codec, block({}));
        ASSERT_TRUE(zero.ok) << spec.name;
        EXPECT_EQ(decode(*spec.codec, zero, 32), block({})) << spec.name;
        EXPECT_FALSE(encode(*spec.codec, block({1, std::numeric_limits<float>::infinity()})).ok) << spec.name;
        EXPECT_FALSE(encode(*spec.codec, block({1, std::numeric_limits<float>::quiet_NaN()})).ok) << spec.name;
    }
}

TEST(KvFormat, BytesPerRowAreThoseOfTheDesign) {
    const auto row = [](KvFormat format) {
        return kv_payload_bytes_per_row(format, 256) + kv_scale_bytes_per_row(format, 256);
    };
    EXPECT_EQ(2 * row(KvFormat::bf16), 1024);
    EXPECT_EQ(2 * row(KvFormat::q8_0), 544);
    EXPECT_EQ(2 * row(KvFormat::fp8_e4m3), 544);
    EXPECT_EQ(2 * row(KvFormat::q6_0), 416);
    EXPECT_EQ(2 * row(KvFormat::q4_0), 288);
    EXPECT_EQ(2 * row(KvFormat::q8r), 516);
    EXPECT_EQ(2 * row(KvFormat::q6r), 388);
    EXPECT_EQ(2 * row(KvFormat::q4r), 260);
    EXPECT_EQ(row(KvFormat::q2c) + row(KvFormat::q4_0), 224);
    EXPECT_EQ(2 * row(KvFormat::q2c), 160);
    EXPECT_EQ(row(KvFormat::q2c) + row(KvFormat::q2t), 160);
    EXPECT_EQ(2 * row(KvFormat::q4_nl), 288);
}

}  // namespace
}  // namespace octavo
