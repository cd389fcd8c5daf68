// End to end: logits of the fixtures' checkpoints and of Pocket against values that independent programs computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>
#include "kernels/cuda/cuda.h"
#include "models/hybrid/forward.h"
#include "models/hybrid/placed_weights.h"
#include "models/model.h"
#include "tests/support/npy.h"
#include "tests/support/paths.h"
#include "tests/support/random.h"
#include "tests/support/sequence.h"

namespace octavo::test {
namespace {

using Json = nlohmann::json;

// How a prompt is cut into passes.
enum class Split { whole, one_by_one, random };

std::vector<int> pass_lengths(Split split, int tokens, int most, uint64_t seed) {
    Random random(seed);
    std::vector<int> lengths;
    for (int left = tokens; left > 0; left -= lengths.back()) {
        const int longest = std::min(left, most);
        if (split == Split::whole) lengths.push_back(longest);
        if (split == Split::one_by_one) lengths.push_back(1);
        if (split == Split::random) lengths.push_back(1 + static_cast<int>(random.below(std::min(longest, 90))));
    }
    return lengths;
}

// Logits of the last `rows` tokens: [rows][vocab].
std::vector<float> logits_of(const Model& model, Backend& backend, const std::vector<int32_t>& ids, int rows,
                             Split split, uint64_t seed = 1) {
    const int tokens = static_cast<int>(ids.size());
    const int vocab = model.config.vocab;
    const Result<PlacedWeights> weights = place_weights(model.config, model.weights, backend);
    EXPECT_TRUE(weights) << weights.error().message;
    Result<Forward> forward = Forward::create(model.config, weights->weights, backend, 512);
    EXPECT_TRUE(forward) << forward.error().message;
    TestSequence sequence(model.config, KvFormat::f32, tokens, backend.memory());
    std::vector<float> all(static_cast<size_t>(tokens) * vocab);
    int position = 0;
    for (int length : pass_lengths(split, tokens, forward->max_tokens(), seed)) {
        const Status status =
            forward->run({ids.data() + position, static_cast<size_t>(length)}, position, sequence.state(), length,
                         all.data() + static_cast<size_t>(position) * vocab);
        EXPECT_TRUE(status) << status.error().message;
        position += length;
    }
    return {all.end() - static_cast<int64_t>(rows) * vocab, all.end()};
}

// Every logit within `bound`; the best equal wherever the two best differ by more than `margin`.
testing::AssertionResult same_logits(const std::vector<float>& got, const NpyArray& want, double bound, double margin) {
    const int64_t rows = want.shape.at(0);
    const int64_t vocab = want.shape.at(1);
    for (int64_t row = 0; row < rows; ++row) {
        const float* g = got.data() + row * vocab;
        const float* w = want.floats.data() + row * vocab;
        for (int64_t i = 0; i < vocab; ++i) {
            if (!(std::abs(g[i] - w[i]) <= bound)) {
                return testing::AssertionFailure()
                       << "row " << row << " token " << i << ": " << g[i] << ", want " << w[i] << " within " << bound;
            }
        }
        const int64_t best = std::max_element(w, w + vocab) - w;
        const int64_t ours = std::max_element(g, g + vocab) - g;
        if (ours != best && w[best] - w[ours] > margin) {
            return testing::AssertionFailure() << "row " << row << ": best token " << ours << ", want " << best;
        }
    }
    return testing::AssertionSuccess();
}

enum class Device { reference, cpu, cuda_float32, cuda };

const char* device_name(Device device) {
    switch (device) {
        case Device::reference: return "reference";
        case Device::cpu: return "cpu";
        case Device::cuda_float32: return "cuda_float32";
        case Device::cuda: return "cuda";
    }
    return "";
}

Result<std::unique_ptr<Backend>> open_device(Device device) {
    switch (device) {
        case Device::reference: return make_reference_backend();
        case Device::cpu: return make_cpu_backend(2, detect_cpu_isa());
        case Device::cuda_float32: return make_cuda_backend({.float32 = true});
        case Device::cuda: return make_cuda_backend({});
    }
    return Error{};
}

struct Case {
    std::string name;  // key in index.json
    Split split;
    Device device;
    friend void PrintTo(const Case& c, std::ostream* os) {
        *os << c.name << " " << device_name(c.device) << " split " << static_cast<int>(c.split);
    }
};

// Root mean square of the difference over that of what is wanted.
double relative_rms(const std::vector<float>& got, const NpyArray& want) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < want.floats.size(); ++i) {
        difference += std::pow(double{got[i]} - want.floats[i], 2);
        size += std::pow(double{want.floats[i]}, 2);
    }
    return std::sqrt(difference / size);
}

// The rule for kernels that round factors to 16 bits.
void expect_close(const std::vector<float>& got, const NpyArray& want) {
    EXPECT_LE(relative_rms(got, want), 1e-2);
    EXPECT_TRUE(same_logits(got, want, std::numeric_limits<double>::infinity(), 0.1));
}

// Mean over the rows of the Kullback-Leibler divergence of `got` from what is wanted, in nats.
double mean_divergence(const std::vector<float>& got, const NpyArray& want) {
    const int64_t rows = want.shape.at(0);
    const int64_t vocab = want.shape.at(1);
    const auto log_sum = [&](const float* logits) {
        const double best = *std::max_element(logits, logits + vocab);
        double sum = 0;
        for (int64_t i = 0; i < vocab; ++i) sum += std::exp(logits[i] - best);
        return best + std::log(sum);
    };
    double total = 0;
    for (int64_t row = 0; row < rows; ++row) {
        const float* g = got.data() + row * vocab;
        const float* w = want.floats.data() + row * vocab;
        const double shift = log_sum(g) - log_sum(w);
        const double normaliser = log_sum(w);
        for (int64_t i = 0; i < vocab; ++i) total += std::exp(w[i] - normaliser) * (double{w[i]} - g[i] + shift);
    }
    return total / static_cast<double>(rows);
}

// The fixtures' rule for kernels that round activations to 8 bits: beside an implementation that does so too.
void expect_fair(const std::vector<float>& got, const NpyArray& want, const Json& other) {
    double difference = 0;
    for (size_t i = 0; i < got.size(); ++i) difference += std::pow(double{got[i]} - want.floats[i], 2);
    EXPECT_LE(std::sqrt(difference / static_cast<double>(got.size())), 2 * other.at("rms_diff").get<double>());
    EXPECT_LE(mean_divergence(got, want), 3 * other.at("mean_kl").get<double>());
}

// Whether the fast CPU back end may round the activations that it multiplies with the weights of this checkpoint.
bool rounds_activations(const std::string& name) { return name.ends_with("q4_k_m") || name.ends_with("nvfp4"); }

class CheckpointLogits : public testing::TestWithParam<Case> {};

// A fixture of this tree, or of the shared folder.
Result<std::filesystem::path> checkpoint_path(const std::string& file) {
    const std::filesystem::path here = fixture_path("checkpoints/" + file);
    if (std::filesystem::exists(here)) return here;
    return shared_path("fixtures/checkpoints/" + file);
}

TEST_P(CheckpointLogits, AreThoseOfTheFixture) {
    const Result<std::filesystem::path> index_path = checkpoint_path("index.json");
    if (!index_path) GTEST_SKIP() << index_path.error().message;
    const Json entry = Json::parse(std::ifstream(*index_path)).value(GetParam().name, Json());
    if (entry.is_null()) GTEST_SKIP() << "No checkpoint named " << GetParam().name << " in " << *index_path;
    const Result<std::filesystem::path> file = checkpoint_path(entry.at("file").get<std::string>());
    if (!file) GTEST_SKIP() << file.error().message;
    const auto model = open_model(*file);
    ASSERT_TRUE(model) << model.error().message;
    const Result<std::unique_ptr<Backend>> backend = open_device(GetParam().device);
    if (!backend) GTEST_SKIP() << backend.error().message;
    for (const Json& prompt : entry.at("prompts")) {
        const auto ids = prompt.at("ids").get<std::vector<int32_t>>();
        if (GetParam().device == Device::reference && ids.size() > 65)
            continue;  // the oracle is slow; the fast ones are tested on all
        const Result<std::filesystem::path> logits_path = checkpoint_path(prompt.at("logits").get<std::string>());
        ASSERT_TRUE(logits_path) << logits_path.error().message;
        const Result<NpyArray> want = read_npy(*logits_path);
        ASSERT_TRUE(want) << want.error().message;
        const double bound = prompt.at("suggested_max_abs_diff").get<double>();
        const int rows = static_cast<int>(want->shape.at(0));
        const std::vector<float> got = logits_of(**model, **backend, ids, rows, GetParam().split);
        SCOPED_TRACE(testing::Message() << "prompt of " << ids.size() << " tokens");
        if (GetParam().device == Device::cuda) {
            expect_close(got, *want);
            continue;
        }
        if (GetParam().device == Device::cpu && rounds_activations(GetParam().name)) {
            expect_fair(got, *want, prompt.at("libllama_on_this_file"));
            continue;
        }
        EXPECT_TRUE(same_logits(got, *want, bound, bound));
    }
}

std::vector<Case> checkpoint_cases() {
    std::vector<Case> cases;
    for (const char* name : {"tiny-qwen3next", "tiny-qwen35moe", "tiny-qwen3next-variants", "tiny-qwen35moe-variants",
                             "tiny-qwen3next-yarn", "tiny-qwen35moe-yarn", "qwen3next-f16", "qwen35moe-q8_0",
                             "qwen3next-q4_k_m", "qwen35moe-q4_k_m", "qwen35moe-nvfp4"}) {
        cases.push_back({name, Split::whole, Device::reference});
        for (Device device : {Device::cpu, Device::cuda_float32, Device::cuda}) {
            for (Split split : {Split::whole, Split::one_by_one, Split::random}) cases.push_back({name, split, device});
        }
    }
    return cases;
}

INSTANTIATE_TEST_SUITE_P(All, CheckpointLogits, testing::ValuesIn(checkpoint_cases()), [](const auto& info) {
    std::string name = info.param.name + "_" + device_name(info.param.device) + "_" +
                       std::to_string(static_cast<int>(info.param.split));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

class HfTwin : public testing::TestWithParam<std::tuple<const char*, Device>> {};

TEST_P(HfTwin, LogitsAreThoseOfTheFixture) {
    const auto& [name, device] = GetParam();
    const Result<std::filesystem::path> folder = checkpoint_path(name);
    if (!folder) GTEST_SKIP() << folder.error().message;
    const auto model = open_model(*folder);
    ASSERT_TRUE(model) << model.error().message;
    const Json index = Json::parse(std::ifstream(*folder / "index.json"));
    const auto ids = index.at("ids").get<std::vector<int32_t>>();
    const Result<NpyArray> want = read_npy(*folder / "logits.npy");
    ASSERT_TRUE(want) << want.error().message;
    const Result<std::unique_ptr<Backend>> backend = open_device(device);
    if (!backend) GTEST_SKIP() << backend.error().message;
    for (Split split : {Split::whole, Split::one_by_one, Split::random}) {
        SCOPED_TRACE(testing::Message() << "split " << static_cast<int>(split));
        const auto got = logits_of(**model, **backend, ids, static_cast<int>(want->shape.at(0)), split);
        if (device == Device::cuda) {
            expect_close(got, *want);
        } else {
            EXPECT_TRUE(same_logits(got, *want, 2e-4, 2e-4));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, HfTwin,
                         testing::Combine(testing::Values("hf-qwen35moe", "hf-qwen3next"),
                                          testing::Values(Device::cpu, Device::cuda_float32, Device::cuda)),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param)).substr(3) + "_" +
                                    device_name(std::get<1>(info.param));
                         });

TEST(PocketLogits, OfTheBf16WeightsAreThoseOfTransformers) {
    const auto folder = shared_path("models/pocket/hf");
    if (!folder) GTEST_SKIP() << folder.error().message;
    const auto archive_path = shared_path("models/pocket/hf_logits_512.npz");
    ASSERT_TRUE(archive_path) << archive_path.error().message;
    const auto archive = read_npz(*archive_path);
    ASSERT_TRUE(archive) << archive.error().message;
    const auto model = open_model(*folder);
    ASSERT_TRUE(model) << model.error().message;
    const std::vector<int32_t>& ids = archive->at("input_ids").ints;
    const NpyArray& want = archive->at("logits");
    const std::vector<int32_t>& positions = archive->at("positions").ints;
    const std::vector<int32_t>& best = archive->at("argmax").ints;
    const int vocab = (*model)->config.vocab;
    const auto backend = make_cpu_backend(2, detect_cpu_isa());
    for (Split split : {Split::whole, Split::random}) {
        const auto got = logits_of(**model, *backend, ids, static_cast<int>(ids.size()), split);
        double largest = 0;
        for (size_t row = 0; row < positions.size(); ++row) {
            for (int i = 0; i < vocab; ++i) {
                const double difference =
                    std::abs(got[static_cast<size_t>(positions[row]) * vocab + i] - want.floats[row * vocab + i]);
                largest = std::max(largest, difference);
            }
        }
        EXPECT_LE(largest, 2e-3);
        RecordProperty("largest_difference", std::to_string(largest));
        for (size_t t = 0; t < best.size(); ++t) {
            const auto row = got.begin() + static_cast<int64_t>(t) * vocab;
            EXPECT_EQ(std::max_element(row, row + vocab) - row, best[t]) << "position " << t;
        }
    }
}

}  // namespace
}  // namespace octavo::test
