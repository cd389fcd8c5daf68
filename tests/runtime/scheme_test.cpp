#include "runtime/kv/scheme.h"

#include <gtest/gtest.h>

#include "runtime/kv/kv_settings.h"
#include "runtime/kv/scheme_quality.h"

namespace octavo {
namespace {

TEST(KvScheme, EveryNameOfTheTableIsReadBack) {
    for (const KvSchemeSpec& spec : kv_schemes()) {
        const Result<KvScheme> scheme = parse_kv_scheme(spec.name);
        ASSERT_TRUE(scheme) << spec.name;
        EXPECT_EQ(kv_scheme_name(*scheme), spec.name);
        EXPECT_EQ(scheme->k, spec.k);
        EXPECT_EQ(scheme->v, spec.v);
        EXPECT_FALSE(spec.text.empty()) << spec.name;
    }
}

TEST(KvScheme, EveryPairOfFormatsIsReadBackInBothOrders) {
    for (const KvFormatSpec& k : kv_formats()) {
        for (const KvFormatSpec& v : kv_formats()) {
            const KvScheme wanted{k.format, v.format};
            for (const std::string& text : {"k=" + std::string(k.name) + ",v=" + std::string(v.name),
                                            "v=" + std::string(v.name) + ",k=" + std::string(k.name)}) {
                const Result<KvScheme> scheme = parse_kv_scheme(text);
                ASSERT_TRUE(scheme) << text;
                EXPECT_EQ(*scheme, wanted) << text;
            }
            EXPECT_EQ(*parse_kv_scheme(kv_scheme_name(wanted)), wanted);
        }
    }
}

TEST(KvScheme, UnknownNamesAreRefusedByNameWithWhatExists) {
    for (const char* text : {"q7", "", "F16", "f16 ", "k=f16", "k=f16,v=q7", "k=f16,k=f16", "f16,v=f16", "k=f16,v=f16,",
                             "k=,v=", "=", "k=f16,v=f16,v=f16", "k=q6_k,v=f16"}) {
        const Result<KvScheme> scheme = parse_kv_scheme(text);
        ASSERT_FALSE(scheme) << text;
        EXPECT_EQ(scheme.error().kind, ErrorKind::usage);
        EXPECT_NE(scheme.error().message.find(text), std::string::npos) << scheme.error().message;
    }
    EXPECT_NE(parse_kv_scheme("q7").error().message.find("f32, f16, bf16"), std::string::npos);
}

// The design's table (kv_formats, section 5) for Qwen3.5-35B-A3B.
TEST(KvScheme, EverySchemeOfTheTableWasMeasured) {
    EXPECT_EQ(kv_scheme_qualities().size(), kv_schemes().size());
    for (const KvSchemeSpec& spec : kv_schemes()) {
        const KvSchemeQuality* quality = find_kv_scheme_quality({spec.k, spec.v});
        ASSERT_NE(quality, nullptr) << spec.name;
        EXPECT_EQ(quality->scheme, spec.name);
    }
    EXPECT_EQ(find_kv_scheme_quality({KvFormat::f16, KvFormat::q4_0}), nullptr);
}

TEST(KvMemory, BytesOfTheLargeModel) {
    const KvShape shape{10, 2, 256};
    const KvScheme bf16 = *parse_kv_scheme("bf16");
    EXPECT_EQ(kv_bytes_per_token(shape, bf16), 20480);
    EXPECT_EQ(kv_tokens_in(int64_t{1} << 30, shape, bf16), 52428);
    EXPECT_EQ(262144 * kv_bytes_per_token(shape, bf16), int64_t{5} << 30);
    EXPECT_EQ(kv_bytes_per_token(shape, *parse_kv_scheme("f32")), 40960);
    EXPECT_EQ(kv_bytes_per_token(shape, *parse_kv_scheme("k=f32,v=f16")), 30720);
    EXPECT_EQ(kv_bytes_per_token({12, 2, 256}, *parse_kv_scheme("f16")) / 12, 2048);
}

// The same page's table, and the figures of the schemes' sources.
TEST(KvMemory, BytesOfEveryScheme) {
    const auto bytes = [](const KvShape& shape, const char* scheme) {
        return kv_bytes_per_token(shape, *parse_kv_scheme(scheme));
    };
    const KvShape large{10, 2, 256};
    struct Row {
        const char* scheme;
        int64_t bytes_per_token;
        int64_t tokens_per_gib;
    };
    for (const Row& row : {Row{"bf16", 20480, 52428}, Row{"q8_0", 10880, 98689}, Row{"q6_0", 8320, 129055},
                           Row{"q4_0", 5760, 186413}, Row{"q2k", 4480, 239674}}) {
        EXPECT_EQ(bytes(large, row.scheme), row.bytes_per_token) << row.scheme;
        EXPECT_EQ(kv_tokens_in(int64_t{1} << 30, large, *parse_kv_scheme(row.scheme)), row.tokens_per_gib)
            << row.scheme;
    }
    const auto gib = [](int64_t value) { return static_cast<double>(value) / (int64_t{1} << 30); };
    EXPECT_NEAR(gib(110000 * bytes(large, "bf16")), 2.10, 0.005);
    EXPECT_NEAR(gib(160000 * bytes(large, "q8_0")), 1.62, 0.005);
    EXPECT_NEAR(gib(220000 * bytes(large, "q4_0")), 1.18, 0.005);
    EXPECT_NEAR(gib(300000 * bytes(large, "q4_0")), 1.61, 0.005);
    const KvShape b{16, 4, 256};
    EXPECT_EQ(gib(262144 * bytes(b, "q8r")), 8.0625);
    EXPECT_EQ(gib(262144 * bytes(b, "q6r")), 6.0625);
    EXPECT_EQ(gib(262144 * bytes(b, "q4r")), 4.0625);
    EXPECT_EQ(gib(262144 * bytes(b, "f16")), 16.0);
    const KvShape c{12, 2, 256};
    EXPECT_NEAR(gib(262144 * bytes(c, "f16")), 6.00, 0.005);
    EXPECT_NEAR(gib(262144 * bytes(c, "q4_0")), 1.69, 0.005);
    EXPECT_NEAR(gib(262144 * bytes(c, "q2k")), 1.31, 0.005);
    EXPECT_EQ(bytes(c, "q4_0") / 12, 576);
    EXPECT_EQ(bytes(c, "q2k") / 12, 448);
}

TEST(KvMemory, OverlayOfTheLargeModel) {
    const KvShape large{10, 2, 256};
    KvSettings settings = default_kv_settings(*parse_kv_scheme("q4_0"));
    settings.window = 1024;
    settings.sinks = 0;
    EXPECT_EQ(kv_overlay_bytes(large, settings), int64_t{20} << 20);
    settings.sinks = 64;
    EXPECT_EQ(kv_overlay_bytes(large, settings), (int64_t{85} << 20) / 4);  // 21.25 MiB
    EXPECT_EQ(kv_open_group_bytes(large, settings.scheme), 0);
    EXPECT_EQ(kv_open_group_bytes(large, *parse_kv_scheme("q2k")), 10 * 32 * 2 * 256 * 2);
}

TEST(KvSettings, WhatCannotBeIsRefusedWithNumbers) {
    const auto message = [](const KvSettings& settings, const KvShape& shape) {
        const Status status = check_kv_settings(settings, shape, 4096);
        return status ? std::string() : status.error().message;
    };
    const KvShape shape{2, 2, 256};
    KvSettings settings = default_kv_settings(*parse_kv_scheme("q4_0"));
    EXPECT_EQ(message(settings, shape), "");
    EXPECT_NE(message(settings, {2, 2, 80}).find("80"), std::string::npos);
    settings.window = 5000;
    EXPECT_NE(message(settings, shape).find("5000"), std::string::npos);
    EXPECT_NE(message(settings, shape).find("4096"), std::string::npos);
    settings = default_kv_settings(*parse_kv_scheme("f16"));
    EXPECT_EQ(message(settings, shape), "");
    settings.window = 128;
    EXPECT_NE(message(settings, shape).find("f16"), std::string::npos);
    EXPECT_NE(parse_kv_scheme("q6_k").error().message.find("q6_0"), std::string::npos);
    EXPECT_EQ(*parse_kv_scheme("6bit"), *parse_kv_scheme("q6r"));
}

TEST(KvMemory, AModelWithoutAttentionCostsNothing) {
    EXPECT_EQ(kv_bytes_per_token({0, 2, 256}, KvScheme{}), 0);
    EXPECT_EQ(kv_tokens_in(1000, {0, 2, 256}, KvScheme{}), 0);
}

}  // namespace
}  // namespace octavo
