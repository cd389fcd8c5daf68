#include "models/hybrid/equalise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/hybrid/forward.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"
#include "tests/support/random_model.h"
#include "tests/support/sequence.h"

namespace octavo {
namespace {

using Shared = std::shared_ptr<const Model>;

std::vector<const AttentionWeights*> attention_layers(const Model& model) {
    std::vector<const AttentionWeights*> layers;
    for (const LayerWeights& layer : model.weights.layers) {
        if (layer.attention) layers.push_back(&*layer.attention);
    }
    return layers;
}

size_t row_floats(const HybridConfig& config) { return static_cast<size_t>(config.kv_heads * config.head_dim); }

// Different in every layer, head and channel, but for rotary pairs; `spread`: a factor up and down.
ChannelTable random_divisors(const HybridConfig& config, float spread, uint64_t seed) {
    test::Random random(seed);
    ChannelTable table(static_cast<size_t>(config.attention_layers()));
    for (LayerChannels& layer : table) {
        for (std::vector<float>* side : {&layer.k, &layer.v}) {
            side->resize(row_floats(config));
            for (float& value : *side) value = std::pow(spread, random.uniform(-1, 1));
        }
        for (int head = 0; head < config.kv_heads; ++head) {
            float* k = layer.k.data() + head * config.head_dim;
            for (int j = 0; j < config.rope_dims / 2; ++j) k[j + config.rope_dims / 2] = k[j];
        }
    }
    return table;
}

std::vector<float> logits(const Model& model) {
    constexpr int tokens = 40;
    const auto backend = make_reference_backend();
    Result<Forward> forward = Forward::create(model.config, model.weights, *backend, tokens);
    EXPECT_TRUE(forward);
    const test::TestSequence sequence(model.config, KvFormat::f32, tokens, backend->memory());
    std::vector<int32_t> ids(tokens);
    for (int i = 0; i < tokens; ++i) ids[static_cast<size_t>(i)] = 32 + i * 37 % 90;
    std::vector<float> all(static_cast<size_t>(tokens * model.config.vocab));
    EXPECT_TRUE(forward->run(ids, 0, sequence.state(), tokens, all.data()));
    return all;
}

void expect_same_logits(const Shared& model, const Result<Shared>& scaled) {
    ASSERT_TRUE(scaled) << scaled.error().message;
    const std::vector<float> want = logits(*model);
    const std::vector<float> got = logits(**scaled);
    EXPECT_TRUE(test::within(got, want, 1e-3, {{"token", 40}, {"id", model->config.vocab}}));
    EXPECT_NE(attention_layers(**scaled)[0]->k_norm, attention_layers(*model)[0]->k_norm);
}

TEST(Equalise, LeavesLogitsAlone) {
    const Shared model = test::random_model();
    expect_same_logits(model, divide_channels(model, random_divisors(model->config, 8, 1)));
    expect_same_logits(model, equalise_free(model));
    expect_same_logits(model, equalise_calibrated(model, random_divisors(model->config, 8, 2)));
    // A second scaling on top of the first.
    const Result<Shared> once = divide_channels(model, random_divisors(model->config, 4, 3));
    ASSERT_TRUE(once);
    expect_same_logits(model, divide_channels(*once, random_divisors(model->config, 4, 4)));
}

// Without it, rotary would mix channels of different scale, and attention would change.
TEST(Equalise, RotaryPairsShareADivisor) {
    const Shared model = test::random_model();
    const HybridConfig& config = model->config;
    test::Random random(5);
    ChannelTable rms = random_divisors(config, 3, 5);
    for (LayerChannels& layer : rms) {
        for (float& value : layer.k) value = random.uniform(0.1f, 9.0f);
    }
    for (const ChannelTable& table : {free_divisors(*model), calibrated_divisors(config, rms)}) {
        ASSERT_EQ(std::ssize(table), config.attention_layers());
        for (const LayerChannels& layer : table) {
            for (int head = 0; head < config.kv_heads; ++head) {
                const float* k = layer.k.data() + head * config.head_dim;
                for (int j = 0; j < config.rope_dims / 2; ++j) EXPECT_EQ(k[j], k[j + config.rope_dims / 2]) << j;
                EXPECT_NE(k[0], k[1]);
                EXPECT_NE(k[config.rope_dims], k[config.rope_dims + 1]) << "channels beyond rotary have no partner";
            }
        }
    }
    const float* norm = attention_layers(*model)[0]->k_norm;
    const float expected = std::sqrt(norm[1] * norm[1 + config.rope_dims / 2]);
    EXPECT_FLOAT_EQ(free_divisors(*model)[0].k[1], expected) << "geometric mean";
    const float* pair = rms[0].k.data() + 1;
    const ChannelTable calibrated = calibrated_divisors(config, rms);
    EXPECT_NEAR(calibrated[0].k[1] / calibrated[0].k[config.rope_dims],
                std::sqrt((pair[0] * pair[0] + pair[4] * pair[4]) / 2) / rms[0].k[config.rope_dims], 1e-4);
}

TEST(Equalise, FreeTakesOutliersOutOfTheNorm) {
    const Shared model = test::random_model();
    const Result<Shared> outliers = divide_channels(model, random_divisors(model->config, 50, 6));
    ASSERT_TRUE(outliers);
    const Result<Shared> equal = equalise_free(*outliers);
    const Result<Shared> plain = equalise_free(model);
    ASSERT_TRUE(equal && plain);
    const std::vector<test::Dimension> shape = {{"channel", std::ssize(free_divisors(*model)[0].k)}};
    for (size_t layer = 0; layer < attention_layers(*model).size(); ++layer) {
        const size_t floats = row_floats(model->config);
        const std::span<const float> got(attention_layers(**equal)[layer]->k_norm, floats);
        const std::span<const float> want(attention_layers(**plain)[layer]->k_norm, floats);
        EXPECT_TRUE(test::within(got, want, 1e-5, shape)) << "layer " << layer;
        EXPECT_EQ(attention_layers(**plain)[layer]->v_scale, nullptr) << "free leaves values alone";
        for (size_t c = static_cast<size_t>(model->config.rope_dims); c < 32; ++c) EXPECT_FLOAT_EQ(want[c], 1) << c;
    }
}

TEST(Equalise, FreeHasAFloor) {
    const Shared model = test::random_model();
    auto zeroed = std::make_shared<Model>(*model);
    std::vector<float> norm(row_floats(model->config), 1.0f);
    norm[20] = 0;
    norm[21] = -2;
    for (LayerWeights& layer : zeroed->weights.layers) {
        if (layer.attention) layer.attention->k_norm = norm.data();
    }
    EXPECT_EQ(free_divisors(*zeroed)[0].k[20], 1e-3f);
    EXPECT_EQ(free_divisors(*zeroed)[0].k[21], 2);
    expect_same_logits(zeroed, equalise_free(zeroed));
}

TEST(Equalise, CalibratedMakesChannelsEqual) {
    const HybridConfig config = test::random_model()->config;
    ChannelTable rms = random_divisors(config, 30, 7);
    EXPECT_GT(channel_spread(config, rms[0]), 5);
    const ChannelTable divisors = calibrated_divisors(config, rms);
    const ChannelTable equal = divided_rms(rms, divisors);
    for (size_t layer = 0; layer < equal.size(); ++layer) {
        EXPECT_NEAR(channel_spread(config, equal[layer]), 1, 1e-5);
        for (const std::vector<float>* side : {&divisors[layer].k, &divisors[layer].v}) {
            double log_sum = 0;
            for (int c = 0; c < config.head_dim; ++c) log_sum += std::log((*side)[static_cast<size_t>(c)]);
            EXPECT_NEAR(log_sum, 0, 1e-4) << "geometric mean of a head";
        }
        const auto [low, high] = std::minmax_element(equal[layer].v.begin(), equal[layer].v.begin() + config.head_dim);
        EXPECT_NEAR(*high / *low, 1, 1e-5) << "values of a head";
    }
}

TEST(Equalise, CalibratedBearsDeadChannels) {
    const HybridConfig config = test::random_model()->config;
    ChannelTable rms = random_divisors(config, 2, 8);
    rms[0].k[17] = 0;
    std::fill_n(rms[1].v.begin(), config.head_dim, 0.0f);  // a whole head
    const ChannelTable divisors = calibrated_divisors(config, rms);
    EXPECT_GT(divisors[0].k[17], 0);
    EXPECT_LT(divisors[0].k[17], 0.01f);
    EXPECT_EQ(divisors[1].v[3], 1);
    EXPECT_TRUE(divide_channels(test::random_model(), divisors));
}

// A shape of its own, because the random model's heads are too short for outlier channels.
HybridConfig wide_config(int rope_dims) {
    HybridConfig config;
    config.layers = 2;
    config.layer_kinds = {LayerKind::full_attention, LayerKind::full_attention};
    config.heads = 4;
    config.kv_heads = 2;
    config.head_dim = 256;
    config.rope_dims = rope_dims;
    return config;
}

TEST(Equalise, OutliersReachTheSpread) {
    const HybridConfig config = wide_config(64);
    const ChannelTable rms = random_divisors(config, 1.5f, 9);
    for (const double spread : {6.0, 20.0, 75.0}) {
        const Result<ChannelTable> divisors = outlier_divisors(config, rms, spread);
        ASSERT_TRUE(divisors) << divisors.error().message;
        const ChannelTable scaled = divided_rms(rms, *divisors);
        for (size_t layer = 0; layer < 2; ++layer) {
            EXPECT_NEAR(channel_spread(config, scaled[layer]), spread, spread * 1e-3);
            std::vector<int> changed;
            for (int c = 0; c < 256; ++c) {
                if ((*divisors)[layer].k[static_cast<size_t>(c)] != 1) changed.push_back(c);
            }
            EXPECT_EQ(changed, (std::vector<int>{70, 121, 180, 233}));
            EXPECT_TRUE((*divisors)[layer].v.empty());
        }
    }
}

TEST(Equalise, OutliersInRotaryChannelsTakeTheirPairsAlong) {
    const HybridConfig config = wide_config(256);
    const Result<ChannelTable> divisors = outlier_divisors(config, random_divisors(config, 1.2f, 10), 20);
    ASSERT_TRUE(divisors);
    for (const int channel : {70, 121, 180, 233}) {
        const int partner = (channel + 128) % 256;
        EXPECT_LT((*divisors)[0].k[static_cast<size_t>(channel)], 1);
        EXPECT_EQ((*divisors)[0].k[static_cast<size_t>(channel)], (*divisors)[0].k[static_cast<size_t>(partner)]);
    }
}

TEST(Equalise, RefusesWhatDoesNotFit) {
    const Shared model = test::random_model();
    const HybridConfig& config = model->config;
    const ChannelTable good = random_divisors(config, 2, 11);
    EXPECT_TRUE(divide_channels(model, good));

    ChannelTable fewer = good;
    fewer.pop_back();
    ChannelTable shorter = good;
    shorter[1].k.pop_back();
    ChannelTable no_keys = good;
    no_keys[0].k.clear();
    for (const ChannelTable& table : {fewer, shorter, no_keys, ChannelTable{}}) {
        const Result<Shared> refused = divide_channels(model, table);
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().message.find("2 full-attention layers of 64 channels"), std::string::npos)
            << refused.error().message;
    }
    for (const float bad :
         {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e-45f}) {
        for (auto side : {&LayerChannels::k, &LayerChannels::v}) {
            ChannelTable table = good;
            (table[1].*side)[5] = bad;
            if (bad == 1e-45f && side == &LayerChannels::v) continue;  // small, but a number
            EXPECT_FALSE(divide_channels(model, table)) << bad;
        }
    }
    EXPECT_FALSE(equalise_calibrated(model, fewer));
    EXPECT_FALSE(equalise_calibrated(model, shorter));

    const Result<ChannelTable> short_heads = outlier_divisors(config, good, 6);
    ASSERT_FALSE(short_heads);
    EXPECT_NE(short_heads.error().message.find("head_dim is 32"), std::string::npos) << short_heads.error().message;
    const HybridConfig wide = wide_config(64);
    for (const double spread : {0.5, -3.0, 1e30, std::nan("")}) {
        EXPECT_FALSE(outlier_divisors(wide, random_divisors(wide, 2, 12), spread)) << spread;
    }
}

}  // namespace
}  // namespace octavo
