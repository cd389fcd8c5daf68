// Errors of the KV formats: the design's figures on Gaussian rows, on Pocket's own activations, and what outlier
// channels do.
#include "runtime/measure/kv_error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/kv_hadamard.h"
#include "tests/support/npy.h"
#include "tests/support/paths.h"

namespace octavo {
namespace {

KvSettings settings_for(KvFormat k, KvFormat v, KvEncoder encoder = KvEncoder::refined,
                        KvRotation rotation = KvRotation::off) {
    KvSettings settings;
    settings.scheme = {k, v};
    settings.encoder = encoder;
    settings.rotation = rotation;
    return settings;
}

class KvErrorTest : public testing::Test {
  protected:
    KvError measure(const KvActivations& activations, const KvSettings& settings, std::span<const float> exact) {
        const Result<KvError> error = measure_kv_error(activations, settings, exact, *backend_);
        EXPECT_TRUE(error) << error.error().message;
        return error ? *error : KvError{};
    }
    // Without queries.
    KvError measure(const KvActivations& activations, const KvSettings& settings) {
        return measure(activations, settings, {});
    }
    static KvActivations made_up(std::string_view family, int64_t cells, int64_t queries = 0) {
        Result<KvActivations> activations = make_activations(family, cells, queries, 7);
        EXPECT_TRUE(activations) << activations.error().message;
        return std::move(*activations);
    }

    std::unique_ptr<Backend> backend_ = make_reference_backend();
};

TEST_F(KvErrorTest, GaussianRowsHaveTheErrorsOfTheDesign) {
    struct Case {
        KvFormat format;
        KvEncoder encoder;
        double error;  // of 40,000 rows
        bool ceiling;  // may be smaller
    };
    constexpr Case cases[] = {
        {KvFormat::q8_0, KvEncoder::reference, .0053, false}, {KvFormat::fp8_e4m3, KvEncoder::reference, .0240, false},
        {KvFormat::q6_0, KvEncoder::reference, .0219, false}, {KvFormat::q6_0, KvEncoder::refined, .0210, true},
        {KvFormat::q8r, KvEncoder::reference, .0070, false},  {KvFormat::q6r, KvEncoder::reference, .0285, false},
        {KvFormat::q4_0, KvEncoder::reference, .0937, false}, {KvFormat::q4_0, KvEncoder::refined, .0845, true},
        {KvFormat::q4_nl, KvEncoder::refined, .0759, true},   {KvFormat::q4r, KvEncoder::reference, .1263, false},
        {KvFormat::q2c, KvEncoder::refined, .3256, true},     {KvFormat::q2t, KvEncoder::refined, .3256, true},
    };
    const KvActivations rows = made_up("gaussian", 2016);  // two heads: 4,032 rows
    for (const Case& c : cases) {
        const KvError error = measure(rows, settings_for(c.format, c.format, c.encoder));
        const std::string name = fmt::format("{}, {}", kv_format_spec(c.format).name, kv_encoder_name(c.encoder));
        for (const double found : {error.rel_k, error.rel_v}) {
            EXPECT_LE(found, c.error * 1.02) << name;
            EXPECT_GE(found, c.error * (c.ceiling ? 0.9 : 0.98)) << name;
        }
    }
}

// ggml's rule for q4_0, between the two encoders that Octavo has: the signed extreme becomes -8, and no refit.
double signed_extreme_error(std::span<const float> values) {
    double error = 0;
    double size = 0;
    for (size_t at = 0; at + kKvBlock <= values.size(); at += kKvBlock) {
        const auto block = values.subspan(at, kKvBlock);
        const float extreme =
            *std::max_element(block.begin(), block.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
        const float d = extreme / -8;
        for (const float x : block) {
            const float difference = d * std::clamp(std::round(x / d), -8.0f, 7.0f) - x;
            error += static_cast<double>(difference * difference);
            size += static_cast<double>(x * x);
        }
    }
    return std::sqrt(error / size);
}

// Published for kurtotic K and V: q4_0 .094, q6_0 .024, q8_0 .006. No encoder gives all three on Gaussian rows (.086 to
// .094, .022, .005); a kurtosis of about 4 does, with q4_0 taken by the signed extreme.
TEST_F(KvErrorTest, KurtoticRowsHaveThePublishedErrors) {
    const KvActivations rows = made_up("kurtotic", 1024);
    const auto error = [&](KvFormat format, KvEncoder encoder) {
        return measure(rows, settings_for(format, format, encoder)).rel_k;
    };
    EXPECT_NEAR(error(KvFormat::q8_0, KvEncoder::reference), .006, .0005);
    EXPECT_NEAR(error(KvFormat::q6_0, KvEncoder::reference), .024, .0005);
    EXPECT_NEAR(signed_extreme_error(rows.k), .094, .001);
    EXPECT_LT(error(KvFormat::q4_0, KvEncoder::refined), signed_extreme_error(rows.k));
    EXPECT_GT(error(KvFormat::q4_0, KvEncoder::reference), .1);
}

TEST_F(KvErrorTest, ExactFormatsAndCoveredCellsHaveNoError) {
    const KvActivations rows = made_up("gaussian", 200, 16);
    const Result<std::vector<float>> exact = exact_attention(rows);
    ASSERT_TRUE(exact) << exact.error().message;
    const KvError none = measure(rows, settings_for(KvFormat::f32, KvFormat::f32), *exact);
    EXPECT_EQ(none.rel_k, 0);
    EXPECT_EQ(none.rel_v, 0);
    EXPECT_EQ(none.attention_error, 0);

    KvSettings covered = settings_for(KvFormat::q4_0, KvFormat::q2c);
    const KvError open = measure(rows, covered, *exact);
    EXPECT_GT(open.rel_k, 0.05);
    EXPECT_GT(open.attention_error, 0.05);
    covered.window = 150;
    covered.sinks = 50;
    const KvError closed = measure(rows, covered, *exact);
    EXPECT_LT(closed.rel_k, 5e-4) << "FP16 rounding only";
    EXPECT_LT(closed.rel_v, 5e-4);
    EXPECT_LT(closed.attention_error, 0.05) << "the earlier queries see less of the sinks and more of the bulk";
    EXPECT_LT(closed.attention_error, open.attention_error / 3);
}

TEST_F(KvErrorTest, RotationIsUndoneOnEverySide) {
    const KvActivations rows = made_up("heavy tails", 192, 16);
    const Result<std::vector<float>> exact = exact_attention(rows);
    ASSERT_TRUE(exact) << exact.error().message;
    for (const KvFormat format : {KvFormat::f32, KvFormat::q8_0}) {
        KvSettings settings = settings_for(format, format, KvEncoder::refined, KvRotation::on);
        const KvError error = measure(rows, settings, *exact);
        EXPECT_LT(error.rel_k, 0.008);
        EXPECT_LT(error.rel_v, 0.008);
        EXPECT_LT(error.attention_error, 0.03);
    }
}

TEST_F(KvErrorTest, OutlierChannelsKeepTheAttentionAndAreThatLarge) {
    const KvActivations plain = made_up("gaussian", 256, 8);
    const Result<KvActivations> outliers = with_outliers(plain, 20);
    ASSERT_TRUE(outliers) << outliers.error().message;
    const Result<std::vector<float>> exact = exact_attention(plain);
    const Result<std::vector<float>> same = exact_attention(*outliers);
    ASSERT_TRUE(exact && same);
    double largest = 0;
    for (size_t i = 0; i < exact->size(); ++i) {
        largest = std::max(largest, std::fabs(static_cast<double>((*exact)[i]) - static_cast<double>((*same)[i])));
    }
    EXPECT_LT(largest, 1e-4);

    // Per-channel keys do not notice; block formats do, and rotation makes extreme spread worse.
    const auto error = [&](const KvActivations& rows, KvFormat k, KvRotation rotation) {
        return measure(rows, settings_for(k, KvFormat::f16, KvEncoder::refined, rotation), *exact).attention_error;
    };
    const Result<KvActivations> extreme = with_outliers(plain, 75);
    ASSERT_TRUE(extreme) << extreme.error().message;
    const double per_channel = error(plain, KvFormat::q2c, KvRotation::off);
    EXPECT_NEAR(error(*extreme, KvFormat::q2c, KvRotation::off), per_channel, per_channel * 0.01);
    EXPECT_GT(error(*extreme, KvFormat::q4_0, KvRotation::off), 2 * error(plain, KvFormat::q4_0, KvRotation::off));
}

TEST_F(KvErrorTest, SizesAndNamesAreChecked) {
    EXPECT_FALSE(make_activations("no such family", 10, 1, 0));
    EXPECT_FALSE(make_activations("gaussian", 10, 11, 0));
    KvActivations rows = made_up("gaussian", 32, 1);
    rows.q.pop_back();
    EXPECT_FALSE(exact_attention(rows));
    EXPECT_FALSE(with_outliers(rows, 6));
}

// Attention over 4,096 cells of the bundled model, layer by layer.
KvActivations pocket_probe(int layer) {
    const auto array = [layer](const char* side) {
        const auto path = test::shared_path(fmt::format("models/pocket/probe_layer{}_{}.npy", layer, side));
        Result<test::NpyArray> read = path ? test::read_npy(*path) : Result<test::NpyArray>(path.error());
        return read ? std::move(read->floats) : std::vector<float>();
    };
    return {fmt::format("layer {}", layer), 4, 2, 256, 4096, 64, array("k"), array("v"), array("q64")};
}

TEST_F(KvErrorTest, PocketActivationsHaveTheErrorsOfTheDesign) {
    if (const auto there = test::shared_path("models/pocket/probe_layer4_k.npy"); !there)
        GTEST_SKIP() << there.error().message;
    backend_ = make_cpu_backend(0, detect_cpu_isa());
    struct Case {
        KvFormat k, v;
        KvEncoder encoder;
        double low, high;  // in percent, no rotation, no window
    };
    constexpr Case cases[] = {
        {KvFormat::q8_0, KvFormat::q8_0, KvEncoder::reference, .57, .63},
        {KvFormat::q6_0, KvFormat::q6_0, KvEncoder::refined, 2.05, 2.15},
        {KvFormat::q6r, KvFormat::q6r, KvEncoder::reference, 3.0, 3.15},
        {KvFormat::q4_0, KvFormat::q4_0, KvEncoder::reference, 10.2, 10.8},
        {KvFormat::q4_0, KvFormat::q4_0, KvEncoder::refined, 8.3, 8.7},
        {KvFormat::q4r, KvFormat::q4r, KvEncoder::reference, 13.2, 14.4},
        // The design's figures for per-channel formats, 27.8-28.2, 28.0-30.6 and 37-40, are of cells that are all in
        // the bulk. Here each query reads its open group in FP16, up to 31 of the newest cells.
        {KvFormat::q2c, KvFormat::q4_0, KvEncoder::refined, 26.4, 26.9},
        {KvFormat::q4_0, KvFormat::q2c, KvEncoder::refined, 22.5, 25.4},
        {KvFormat::q2c, KvFormat::q2c, KvEncoder::refined, 33.4, 34.6},
    };
    for (const int layer : {4, 8}) {
        const KvActivations probe = pocket_probe(layer);
        const Result<std::vector<float>> exact = exact_attention(probe);
        ASSERT_TRUE(exact) << exact.error().message;
        for (const Case& c : cases) {
            const KvError error = measure(probe, settings_for(c.k, c.v, c.encoder), *exact);
            const std::string name =
                fmt::format("layer {}, {}", layer, describe_kv_settings(settings_for(c.k, c.v, c.encoder)));
            EXPECT_GE(100 * error.attention_error, c.low * 0.97) << name;
            EXPECT_LE(100 * error.attention_error, c.high * 1.03) << name;
        }
    }
}

}  // namespace
}  // namespace octavo
