// Draft (MTP) blocks: read, checked, and, put together from the operations that there are, the logits of the fixtures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/hybrid/forward.h"
#include "models/model.h"
#include "tests/support/npy.h"
#include "tests/support/paths.h"
#include "tests/support/sequence.h"

namespace octavo::test {
namespace {

// y = W x, with W decoded.
std::vector<float> product(const Matrix& w, const std::vector<float>& x) {
    std::vector<float> row(static_cast<size_t>(w.cols));
    std::vector<float> y(static_cast<size_t>(w.rows));
    for (int64_t i = 0; i < w.rows; ++i) {
        w.decode_rows(i, 1, row.data());
        double sum = 0;
        for (size_t j = 0; j < row.size(); ++j) sum += double{row[j]} * x[j];
        y[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
    return y;
}

void append_normed(std::vector<float>& out, const float* x, const float* weight, int width, float eps) {
    double squares = 0;
    for (int i = 0; i < width; ++i) squares += double{x[i]} * x[i];
    const double scale = 1 / std::sqrt(squares / width + double{eps});
    for (int i = 0; i < width; ++i) out.push_back(static_cast<float>(x[i] * scale * weight[i]));
}

// What the block's layer begins with at every position: [tokens][hidden]. `trunk` is its output, one position back.
std::vector<float> joined_inputs(const Model& model, const std::vector<int32_t>& ids, const NpyArray& trunk) {
    const DraftWeights& draft = model.drafts[0];
    const int hidden = model.config.hidden;
    std::vector<float> inputs;
    const std::vector<float> zeros(static_cast<size_t>(hidden));
    std::vector<float> embedding(static_cast<size_t>(hidden));
    for (size_t t = 0; t < ids.size(); ++t) {
        draft.embedding.decode_rows(ids[t], 1, embedding.data());
        const float* before = t == 0 ? zeros.data() : trunk.floats.data() + (t - 1) * static_cast<size_t>(hidden);
        std::vector<float> both;
        append_normed(both, embedding.data(), draft.embedding_norm, hidden, model.config.rms_eps);
        append_normed(both, before, draft.trunk_norm, hidden, model.config.rms_eps);
        const std::vector<float> joined = product(draft.join, both);
        inputs.insert(inputs.end(), joined.begin(), joined.end());
    }
    return inputs;
}

class DraftBlock : public testing::TestWithParam<std::string> {};

TEST_P(DraftBlock, GivesTheLogitsOfTheFixture) {
    const Result<std::filesystem::path> index_file = shared_path("fixtures/checkpoints/index.json");
    if (!index_file) GTEST_SKIP() << index_file.error().message;
    const std::filesystem::path folder = index_file->parent_path();
    const nlohmann::json entry = nlohmann::json::parse(std::ifstream(*index_file)).at(GetParam());
    const auto model = open_model(folder / entry.at("file").get<std::string>());
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_EQ((*model)->drafts.size(), 1u);
    EXPECT_GT((*model)->draft_bytes, 0);
    EXPECT_TRUE(std::any_of((*model)->notes.begin(), (*model)->notes.end(),
                            [](const std::string& note) { return note.find("draft (MTP)") != std::string::npos; }));

    const auto ids = entry.at("ids").get<std::vector<int32_t>>();
    const Result<NpyArray> trunk = read_npy(folder / entry.at("trunk_hidden").get<std::string>());
    const Result<NpyArray> want = read_npy(folder / entry.at("mtp_logits").get<std::string>());
    ASSERT_TRUE(trunk && want);

    // A model of the block's layer alone, whose "embedding" is what the layer begins with.
    const DraftWeights& draft = (*model)->drafts[0];
    const std::vector<float> inputs = joined_inputs(**model, ids, *trunk);
    const auto tokens = static_cast<int>(ids.size());
    HybridConfig config = (*model)->config;
    config.layers = 1;
    config.layer_kinds = {LayerKind::full_attention};
    HybridWeights weights;
    weights.embedding = {WeightType::f32, reinterpret_cast<const std::byte*>(inputs.data()), tokens, config.hidden};
    weights.head = draft.head;
    weights.final_norm = draft.final_norm;
    weights.layers = {draft.layer};

    const std::unique_ptr<Backend> backend = make_reference_backend();
    Result<Forward> forward = Forward::create(config, weights, *backend, tokens);
    ASSERT_TRUE(forward) << forward.error().message;
    TestSequence sequence(config, KvFormat::f32, tokens, backend->memory());
    std::vector<int32_t> positions;
    for (int t = 0; t < tokens; ++t) positions.push_back(t);
    std::vector<float> got(static_cast<size_t>(tokens) * static_cast<size_t>(config.vocab));
    const Status status = forward->run(positions, 0, sequence.state(), tokens, got.data());
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_EQ(got.size(), want->floats.size());
    double largest = 0;
    for (size_t i = 0; i < got.size(); ++i) largest = std::max(largest, std::abs(double{got[i]} - want->floats[i]));
    EXPECT_LE(largest, entry.at("suggested_max_abs_diff").get<double>());
}

INSTANTIATE_TEST_SUITE_P(All, DraftBlock, testing::Values("tinymtp-qwen35moe", "tinymtp-qwen3next"),
                         [](const auto& info) { return info.param.substr(8); });

}  // namespace
}  // namespace octavo::test
