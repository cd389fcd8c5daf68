#include "runtime/kv/scheme.h"

#include <gtest/gtest.h>

#include "runtime/kv/kv_memory.h"

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
            if (!k.raw() || !v.raw()) continue;
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

TEST(KvMemory, AModelWithoutAttentionCostsNothing) {
    EXPECT_EQ(kv_bytes_per_token({0, 2, 256}, KvScheme{}), 0);
    EXPECT_EQ(kv_tokens_in(1000, {0, 2, 256}, KvScheme{}), 0);
}

}  // namespace
}  // namespace octavo
