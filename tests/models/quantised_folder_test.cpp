// Quantised safetensors folders: every layout's logits are those of the same weights written as F32. The factors of
// whole tensors are powers of two, so that multiplying weights or products by them is the same to the bit.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/base/float8.h"
#include "kernels/cuda/cuda.h"
#include "models/hybrid/forward.h"
#include "models/hybrid/placed_weights.h"
#include "models/model.h"
#include "models/safetensors/checkpoint.h"
#include "tests/support/compare.h"
#include "tests/support/paths.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/sequence.h"
#include "tests/support/temporary_folder.h"

namespace octavo::test {
namespace {

using Json = nlohmann::json;

enum class Layout { fp8, modelopt, compressed_tensors };

bool is_projection(const StoredTensor& tensor) {
    return tensor.name.find("_proj") != std::string::npos && tensor.name.ends_with(".weight") &&
           tensor.shape.size() == 2;
}

struct Nvfp4 {
    std::vector<std::byte> codes;   // [values / 2]
    std::vector<std::byte> scales;  // [values / 16]
    std::vector<float> decoded;     // with the factor of the tensor
};

Nvfp4 to_nvfp4(std::span<const float> values, float factor) {
    Nvfp4 result;
    for (size_t first = 0; first < values.size(); first += 16) {
        const auto block = values.subspan(first, 16);
        float largest = 0;
        for (const float value : block) largest = std::max(largest, std::fabs(value));
        const uint8_t scale_bits = f32_to_e4m3(largest / 6 / factor);
        const float scale = e4m3_to_f32(scale_bits);
        result.scales.push_back(static_cast<std::byte>(scale_bits));
        uint32_t codes[16];
        for (size_t i = 0; i < 16; ++i) {
            codes[i] = 0;
            const auto error = [&](uint32_t code) { return std::fabs(scale * e2m1_to_f32(code) - block[i] / factor); };
            for (uint32_t code = 1; code < 16; ++code) {
                if (error(code) < error(codes[i])) codes[i] = code;
            }
            result.decoded.push_back(scale * e2m1_to_f32(codes[i]) * factor);
        }
        for (size_t i = 0; i < 16; i += 2) result.codes.push_back(static_cast<std::byte>(codes[i] | codes[i + 1] << 4));
    }
    return result;
}

// A checkpoint of the tree, quantised and, beside that, with the same weights in F32.
class QuantisedFolder {
  public:
    QuantisedFolder(const TemporaryFolder& folder, Layout layout) : layout_(layout) {
        const std::filesystem::path source = fixture_path("checkpoints/hf-qwen3next");
        for (const char* name : {"quantised", "plain"}) std::filesystem::create_directories(folder / name);
        const Result<SafetensorsCheckpoint> checkpoint = open_safetensors(source);
        EXPECT_TRUE(checkpoint) << checkpoint.error().message;
        for (const StoredTensor& tensor : checkpoint->tensors.tensors()) add(tensor);
        write(folder, source);
    }

  private:
    SafetensorsWriter& shard() { return shards_[count_++ % 2]; }

    void add(const StoredTensor& tensor) {
        if (!is_projection(tensor)) {
            shard().add(tensor.name, tensor.type_name, tensor.shape, tensor.data);
            plain_.add(tensor.name, tensor.type_name, tensor.shape, tensor.data);
            return;
        }
        std::vector<float> values(static_cast<size_t>(tensor.elements()));
        tensor.weight->decode(tensor.data.data(), tensor.elements(), values.data());
        // As real files mix them: FP8 where the rows are no whole number of NVFP4 blocks, or the layer says so.
        const bool attention = tensor.name.find("_attn.") != std::string::npos;
        if (layout_ == Layout::fp8 || tensor.shape[1] % 16 != 0 || (layout_ == Layout::modelopt && attention)) {
            add_fp8(tensor, values);
        } else {
            add_nvfp4(tensor, values);
        }
    }

    // Neighbours, experts too, have different ones.
    float next_factor() { return std::ldexp(1.0f, -9 + factors_++ % 2); }

    void add_fp8(const StoredTensor& tensor, std::span<const float> values) {
        const float factor = next_factor();
        std::vector<std::byte> codes;
        std::vector<float> decoded;
        for (const float value : values) {
            const uint8_t bits = f32_to_e4m3(value / factor);
            codes.push_back(static_cast<std::byte>(bits));
            decoded.push_back(e4m3_to_f32(bits) * factor);
        }
        shard().add(tensor.name, "F8_E4M3", tensor.shape, codes);
        shard().floats(tensor.name + "_scale", {}, {&factor, 1});
        const float input_scale = 3;
        shard().floats(stem(tensor) + ".input_scale", {}, {&input_scale, 1});
        plain_.floats(tensor.name, tensor.shape, decoded);
    }

    void add_nvfp4(const StoredTensor& tensor, std::span<const float> values) {
        const float factor = next_factor();
        const Nvfp4 packed = to_nvfp4(values, factor);
        const int64_t rows = tensor.shape[0], cols = tensor.shape[1];
        const bool divides = layout_ == Layout::compressed_tensors;
        shard().add(stem(tensor) + (divides ? ".weight_packed" : ".weight"), "U8", {rows, cols / 2}, packed.codes);
        shard().add(stem(tensor) + ".weight_scale", "F8_E4M3", {rows, cols / 16}, packed.scales);
        if (divides) {
            const float divisor = 1 / factor;
            shard().floats(stem(tensor) + ".weight_global_scale", {1}, {&divisor, 1});
            shard().floats(stem(tensor) + ".input_global_scale", {1}, {&divisor, 1});
        } else {
            shard().floats(stem(tensor) + ".weight_scale_2", {}, {&factor, 1});
            shard().floats(stem(tensor) + ".input_scale", {}, {&factor, 1});
        }
        plain_.floats(tensor.name, tensor.shape, packed.decoded);
    }

    static std::string stem(const StoredTensor& tensor) {
        return tensor.name.substr(0, tensor.name.size() - std::string_view(".weight").size());
    }

    void write(const TemporaryFolder& folder, const std::filesystem::path& source) {
        Json config = Json::parse(std::ifstream(source / "config.json"));
        std::ofstream(folder / "plain/config.json") << config;
        const char* methods[] = {"fp8", "modelopt", "compressed-tensors"};
        config["quantization_config"] = {{"quant_method", methods[static_cast<int>(layout_)]}};
        std::ofstream(folder / "quantised/config.json") << config;
        plain_.write(folder / "plain/model.safetensors");
        const std::string names[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
        for (size_t i = 0; i < 2; ++i) shards_[i].write(folder / ("quantised/" + names[i]));
        write_safetensors_index(folder / "quantised", {{names[0], &shards_[0]}, {names[1], &shards_[1]}});
    }

    Layout layout_;
    int count_ = 0;
    int factors_ = 0;
    SafetensorsWriter shards_[2];
    SafetensorsWriter plain_;
};

// pass_tokens: how many tokens a pass reads.
std::vector<float> logits_of(const Model& model, Backend& backend, std::span<const int32_t> ids, size_t pass_tokens) {
    const Result<PlacedWeights> weights = place_weights(model.config, model.weights, backend);
    EXPECT_TRUE(weights) << weights.error().message;
    Result<Forward> forward = Forward::create(model.config, weights->weights, backend, 512);
    EXPECT_TRUE(forward) << forward.error().message;
    const int tokens = static_cast<int>(ids.size());
    TestSequence sequence(model.config, KvFormat::f32, tokens, backend.memory());
    std::vector<float> logits(ids.size() * static_cast<size_t>(model.config.vocab));
    for (size_t first = 0; first < ids.size(); first += pass_tokens) {
        const auto pass = ids.subspan(first, std::min(pass_tokens, ids.size() - first));
        const Status status =
            forward->run(pass, static_cast<int64_t>(first), sequence.state(), static_cast<int>(pass.size()),
                         logits.data() + first * static_cast<size_t>(model.config.vocab));
        EXPECT_TRUE(status) << status.error().message;
    }
    return logits;
}

class QuantisedFolderTest : public testing::TestWithParam<Layout> {};

TEST_P(QuantisedFolderTest, LogitsAreThoseOfTheSameWeightsInF32) {
    const TemporaryFolder folder;
    const QuantisedFolder written(folder, GetParam());
    const auto quantised = open_model(folder / "quantised");
    ASSERT_TRUE(quantised) << quantised.error().message;
    const auto plain = open_model(folder / "plain");
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ((*quantised)->parameters, (*plain)->parameters);
    EXPECT_LT((*quantised)->weight_bytes, (*plain)->weight_bytes / 2);
    EXPECT_EQ((*quantised)->bytes_by_type.contains("NVFP4"), GetParam() != Layout::fp8);
    EXPECT_TRUE((*quantised)->bytes_by_type.contains("F8_E4M3"));
    const std::vector<std::string>& notes = (*quantised)->notes;
    EXPECT_EQ(notes.size(), (*plain)->notes.size() + 1) << fmt::format("{}", fmt::join(notes, "\n"));
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.find("they scale activations") != std::string::npos;
    }));

    const auto compare = [&](Backend& backend, size_t pass_tokens, double bound) {
        const std::vector<int32_t> ids = {3, 14, 15, 92, 65, 35, 89, 79, 32, 38};
        const std::vector<float> want = logits_of(**plain, backend, ids, pass_tokens);
        EXPECT_GT(*std::max_element(want.begin(), want.end()), 0.1f);
        const std::vector<float> got = logits_of(**quantised, backend, ids, pass_tokens);
        const auto tokens = static_cast<int64_t>(ids.size());
        EXPECT_TRUE(within(got, want, bound, {{"token", tokens}, {"logit", (*plain)->config.vocab}}))
            << backend.name() << ", " << pass_tokens << " tokens a pass";
    };
    compare(*make_reference_backend(), 10, 0);
    // This one rounds what NVFP4 is multiplied with to 8 bits.
    compare(*make_cpu_backend(2, detect_cpu_isa()), 10, GetParam() == Layout::fp8 ? 0 : 0.15);
    // The GPU sums the same values in the same order, but for the scales of blocks, which products of a token leave to
    // the end of eight.
    if (const auto cuda = make_cuda_backend({.float32 = true})) {
        compare(**cuda, 10, 0);
        compare(**cuda, 1, 1e-4);
    }
}

std::string layout_name(const testing::TestParamInfo<Layout>& info) {
    constexpr const char* kNames[] = {"fp8", "modelopt", "compressed_tensors"};
    return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, QuantisedFolderTest,
                         testing::Values(Layout::fp8, Layout::modelopt, Layout::compressed_tensors), layout_name);

}  // namespace
}  // namespace octavo::test
