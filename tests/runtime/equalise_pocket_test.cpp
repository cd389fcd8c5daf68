// Outlier channels and their equalisation on the bundled model: what the design's table says, as tendencies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "models/bundled/bundled.h"
#include "runtime/kv/calibration.h"
#include "runtime/session.h"
#include "runtime/verify/logits.h"
#include "tests/support/npy.h"
#include "tests/support/paths.h"

namespace octavo {
namespace {

using Shared = std::shared_ptr<const Model>;
using Values = std::vector<float>;

constexpr int64_t kTokens = 384;

class OutlierPocket : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        Result<Shared> model = open_model(bundled_model(), "bundled");
        ASSERT_TRUE(model) << model.error().message;
        model_ = *model;
        backend_ = make_cpu_backend(2, detect_cpu_isa());
        ids_ = calibration_ids(*model_, kTokens);
        rms_ = measure(*model_);
    }
    static void TearDownTestSuite() {
        backend_.reset();
        model_.reset();
    }
    static ChannelTable measure(const Model& model) {
        Job job;
        Result<ChannelTable> rms = measure_channels(model, *backend_, ids_, job);
        EXPECT_TRUE(rms) << rms.error().message;
        return rms ? std::move(*rms) : ChannelTable{};
    }
    // Of a text that the channels were not measured on.
    static Values logits(const Model& model, KvFormat format) {
        Result<Forward> forward = Forward::create(model.config, model.weights, *backend_, 512);
        SessionOptions options;
        options.kv.scheme = {format, format};
        options.kv.rotation = KvRotation::off;
        Result<std::unique_ptr<Session>> session = Session::create(model.config, *forward, options);
        EXPECT_TRUE(session) << session.error().message;
        const std::vector<int32_t> text = calibration_ids(model, kTokens + 128);
        Values all;
        const auto keep = [&](int64_t, int rows, const float* row) {
            all.insert(all.end(), row, row + static_cast<size_t>(rows) * static_cast<size_t>(model.config.vocab));
        };
        Job job;
        const Status done = (*session)->append(std::span(text).last(128), 128, keep, job);
        EXPECT_TRUE(done) << done.error().message;
        return all;
    }
    static Shared outliers(double spread) {
        Result<Shared> made = with_outliers(model_, spread, rms_);
        EXPECT_TRUE(made) << made.error().message;
        return made ? *made : model_;
    }

    static inline Shared model_;
    static inline std::unique_ptr<Backend> backend_;
    static inline std::vector<int32_t> ids_;
    static inline ChannelTable rms_;
};

std::vector<size_t> best_tokens(const Values& logits, size_t vocab) {
    std::vector<size_t> best;
    for (auto row = logits.begin(); row != logits.end(); row += static_cast<std::ptrdiff_t>(vocab)) {
        best.push_back(static_cast<size_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(vocab)) - row));
    }
    return best;
}

TEST_F(OutlierPocket, ReachesTheSpreadAndComputesTheSame) {
    const Values want = logits(*model_, KvFormat::f32);
    const auto vocab = static_cast<size_t>(model_->config.vocab);
    for (const double spread : {6.0, 20.0, 75.0}) {
        const Shared hard = outliers(spread);
        for (const LayerChannels& layer : measure(*hard)) {
            EXPECT_NEAR(channel_spread(model_->config, layer), spread, 0.02 * spread);
        }
        const Values got = logits(*hard, KvFormat::f32);
        EXPECT_LT(relative_rms_difference(want, got), 1e-3) << spread;
        EXPECT_EQ(best_tokens(got, vocab), best_tokens(want, vocab)) << spread;
    }
    EXPECT_FALSE(with_outliers(model_, 1.2, rms_)) << "Pocket's own keys spread more than that";
}

TEST_F(OutlierPocket, EqualisedComputesTheSame) {
    const Values want = logits(*model_, KvFormat::f32);
    const auto vocab = static_cast<size_t>(model_->config.vocab);
    for (const Result<Shared>& equal : {equalise_free(model_), equalise_calibrated(model_, rms_)}) {
        ASSERT_TRUE(equal) << equal.error().message;
        const Values got = logits(**equal, KvFormat::f32);
        EXPECT_LT(relative_rms_difference(want, got), 1e-3);
        EXPECT_EQ(best_tokens(got, vocab), best_tokens(want, vocab));
    }
}

TEST_F(OutlierPocket, EqualisationTakesTheOutliersOutAgain) {
    const Shared hard = outliers(75);
    const ChannelTable hard_rms = measure(*hard);
    const Result<Shared> free = equalise_free(hard);
    const Result<Shared> calibrated = equalise_calibrated(hard, hard_rms);
    const Result<Shared> free_of_pocket = equalise_free(model_);
    ASSERT_TRUE(free && calibrated && free_of_pocket);
    // What is left is what the norm of Pocket's keys does not explain.
    const ChannelTable left = measure(**free);
    const ChannelTable expected = measure(**free_of_pocket);
    for (size_t layer = 0; layer < left.size(); ++layer) {
        const double spread = channel_spread(model_->config, left[layer]);
        EXPECT_NEAR(spread, channel_spread(model_->config, expected[layer]), 0.01 * spread);
        EXPECT_LT(spread, 10);
    }
    for (const LayerChannels& layer : measure(**calibrated)) EXPECT_LT(channel_spread(model_->config, layer), 1.7);
}

TEST_F(OutlierPocket, EqualisationSavesTheLogitsOfQ4) {
    const Values exact = logits(*model_, KvFormat::f32);
    const auto error = [&](const Shared& model) {
        return relative_rms_difference(exact, logits(*model, KvFormat::q4_0));
    };
    const Shared hard = outliers(75);
    const double mild = error(model_);
    const double plain = error(hard);
    const double free = error(*equalise_free(hard));
    const double calibrated = error(*equalise_calibrated(hard, measure(*hard)));
    std::cout << fmt::format(
        "logits error of q4_0: Pocket {:.4f}; outlier Pocket 75: plain {:.4f}, free {:.4f}, "
        "calibrated {:.4f}\n",
        mild, plain, free, calibrated);
    EXPECT_GT(plain, 2 * mild);
    EXPECT_LT(free, 1.3 * mild);
    EXPECT_LT(calibrated, 1.3 * mild);
}

// Attention on the activations that were recorded from the model's bf16 weights.
struct Probe {
    Values k, v;  // [4096][2][256]
    Values q;     // [64][4][256], the last positions
};

// Attention's output [64][4][256] with keys and values divided by the channels, in `format`.
Values attend(Probe probe, const LayerChannels& divisors, KvFormat format, bool rotate) {
    constexpr int kCells = 4096, kQueries = 64, kHeads = 4, kKvHeads = 2, kDim = 256, kRow = kKvHeads * kDim;
    for (size_t i = 0; i < probe.k.size() && !divisors.k.empty(); ++i) probe.k[i] /= divisors.k[i % kRow];
    for (size_t i = 0; i < probe.q.size() && !divisors.k.empty(); ++i) {
        const size_t kv_head = i / kDim % kHeads / (kHeads / kKvHeads);
        probe.q[i] *= divisors.k[kv_head * kDim + i % kDim];
    }
    const KvShape shape{1, kKvHeads, kDim};
    KvSettings settings;
    settings.scheme = {format, format};
    settings.rotation = rotate ? KvRotation::on : KvRotation::off;
    const auto backend = make_cpu_backend(2, detect_cpu_isa());
    Result<KvCache> cache = KvCache::create(shape, settings, kCells, backend->memory());
    EXPECT_TRUE(cache && cache->commit(kCells));
    KvView view = cache->view(0);
    if (!divisors.v.empty()) view.v_scale = divisors.v.data();
    const KvRows rows{view, 0, kCells, probe.k.data(), probe.v.data()};
    backend->kv_basis(rows, nullptr, 0);
    EXPECT_TRUE(backend->kv_store(rows));
    Values no_keys(kQueries * kRow);
    backend->kv_basis({view, kCells - kQueries, kQueries, no_keys.data(), nullptr}, probe.q.data(), kHeads);
    const Values gate(kQueries * kHeads * 2 * kDim, 40.0f);  // its sigmoid is 1
    Values out(kQueries * kHeads * kDim);
    Attention op;
    op.cache = view;
    op.first_cell = kCells - kQueries;
    op.tokens = kQueries;
    op.heads = kHeads;
    op.q = probe.q.data();
    op.q_gate = gate.data();
    op.k_new = probe.k.data() + (kCells - kQueries) * kRow;
    op.v_new = probe.v.data() + (kCells - kQueries) * kRow;
    op.out = out.data();
    backend->attention(op);
    return out;
}

class OutlierProbesFull : public OutlierPocket {};

TEST_F(OutlierProbesFull, ReproduceTheTable) {
    ids_ = calibration_ids(*model_);
    const ChannelTable rms = measure(*model_);
    const ChannelTable free = free_divisors(*model_);
    const ChannelTable calibrated = calibrated_divisors(model_->config, rms);
    for (size_t layer = 0; layer < 2; ++layer) {
        Probe probe;
        const std::string name = fmt::format("models/pocket/probe_layer{}_", 4 * (layer + 1));
        for (const auto& [part, to] : {std::pair("k", &probe.k), {"v", &probe.v}, {"q64", &probe.q}}) {
            const Result<std::filesystem::path> path = test::shared_path(name + part + ".npy");
            if (!path) GTEST_SKIP() << path.error().message;
            Result<test::NpyArray> array = test::read_npy(*path);
            ASSERT_TRUE(array) << array.error().message;
            *to = std::move(array->floats);
        }
        const Values exact = attend(probe, {}, KvFormat::f32, false);
        const auto error = [&](const LayerChannels& divisors, KvFormat format, bool rotate) {
            return relative_rms_difference(exact, attend(probe, divisors, format, rotate));
        };
        const double mild = error({}, KvFormat::q4_0, false);
        // Keys of outlier Pocket, equalised, are Pocket's keys equalised: both equalisers see the outliers.
        const double with_free = error(free[layer], KvFormat::q4_0, false);
        const double with_calibrated = error(calibrated[layer], KvFormat::q4_0, false);
        std::cout << fmt::format(
            "layer {}: q4_0 {:.4f}, rotated {:.4f}, free {:.4f}, calibrated {:.4f}, calibrated and "
            "rotated {:.4f}\n",
            4 * (layer + 1), mild, error({}, KvFormat::q4_0, true), with_free, with_calibrated,
            error(calibrated[layer], KvFormat::q4_0, true));
        EXPECT_LT(with_free, 1.15 * mild);
        EXPECT_LT(with_calibrated, 1.15 * mild);
        for (const double spread : {6.0, 20.0, 75.0, 300.0}) {
            const Result<ChannelTable> outliers = outlier_divisors(model_->config, rms, spread);
            ASSERT_TRUE(outliers) << outliers.error().message;
            const double plain = error((*outliers)[layer], KvFormat::q4_0, false);
            const double rotated = error((*outliers)[layer], KvFormat::q4_0, true);
            std::cout << fmt::format("layer {}, spread {}: q4_0 {:.4f}, rotated {:.4f}\n", 4 * (layer + 1), spread,
                                     plain, rotated);
            EXPECT_GT(plain, mild);
            if (spread < 100) {
                EXPECT_LT(rotated, plain) << "rotation helps";
            } else {
                EXPECT_GT(rotated, plain) << "but hurts where outliers are extreme";
            }
            if (spread < 75) continue;
            EXPECT_GT(plain, 5 * mild);
            EXPECT_GT(rotated, 2 * mild);
        }
    }
}

}  // namespace
}  // namespace octavo
