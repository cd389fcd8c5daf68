// The program on model files of every kind: folders, unsupported weights, broken files.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"
#include "tests/support/npy.h"
#include "tests/support/paths.h"
#include "tests/support/process_platform.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

using nlohmann::json;

ProcessResult octavo(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {OCTAVO_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_process(command, "", std::chrono::seconds(30));
}

json inspect(const std::filesystem::path& model) {
    const ProcessResult result = octavo({"inspect", model.string(), "--json", "-"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return json::parse(result.output, nullptr, false);
}

TEST(ModelFiles, FolderOfSafetensorsIsInspected) {
    const auto folder = test::shared_path("fixtures/checkpoints/hf-qwen35moe");
    if (!folder) GTEST_SKIP() << folder.error().message;
    const json contents = inspect(*folder);
    EXPECT_EQ(contents["format"], "safetensors");
    EXPECT_TRUE(contents["supported"]);
    EXPECT_GT(contents["tensors"].size(), 20u);
    EXPECT_GT(contents["metadata"].size(), 10u);
    EXPECT_EQ(inspect(*folder / "config.json")["tensors"], contents["tensors"]) << "a file of the folder names it too";
}

TEST(ModelFiles, HostileConfigurationsEndInASentence) {
    const auto source = test::shared_path("fixtures/checkpoints/hf-qwen35moe/model.safetensors");
    if (!source) GTEST_SKIP() << source.error().message;
    const TemporaryFolder folder;
    std::filesystem::copy_file(*source, folder / "model.safetensors");
    constexpr size_t kDeep = 200'000;
    for (const std::string& config : {std::string("{}"), std::string("{\"\":{}}"),
                                      "{\"a\":" + std::string(kDeep, '[') + std::string(kDeep, ']') + "}"}) {
        std::ofstream(folder / "config.json") << config;
        const ProcessResult result = octavo({"inspect", folder.path().string()});
        EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << config.substr(0, 20) << " " << result.exit_code;
    }
}

TEST(ModelFiles, UnsupportedWeightsAreInspectedAndRefused) {
    const auto file = test::shared_path("fixtures/quant_types/quant_types.gguf");
    if (!file) GTEST_SKIP() << file.error().message;
    const json contents = inspect(*file);
    EXPECT_FALSE(contents["supported"]);
    EXPECT_FALSE(contents["unsupported"].empty());
    EXPECT_GT(contents["tensors"].size(), 20u);
    EXPECT_EQ(octavo({"chat", "-m", file->string(), "-p", "x"}).exit_code, 2);
}

TEST(ModelFiles, EveryWeightTypeIsDecoded) {
    const TemporaryFolder folder;
    for (const std::string name : {"quant_types", "quant_bits"}) {
        const auto file = test::shared_path("fixtures/quant_types/" + name + ".gguf");
        if (!file) GTEST_SKIP() << file.error().message;
        for (const json& tensor : inspect(*file)["tensors"]) {
            const auto type = tensor["type"].get<std::string>();
            SCOPED_TRACE(name + " " + type);
            EXPECT_TRUE(tensor["supported"].get<bool>());
            const std::string out = (folder / (name + type + ".npy")).string();
            const ProcessResult result = octavo({"inspect", file->string(), "--tensor", type, "-o", out});
            ASSERT_EQ(result.exit_code, 0) << result.errors;
            const auto got = test::read_npy(out);
            ASSERT_TRUE(got) << got.error().message;
            EXPECT_EQ(got->shape, (std::vector<int64_t>{4, 1024}));
            const auto want =
                test::read_file(file->parent_path() / (type + (name == "quant_types" ? "" : ".bits") + ".f32"));
            ASSERT_TRUE(want) << want.error().message;
            ASSERT_EQ(want->size(), got->floats.size() * sizeof(float));
            EXPECT_EQ(std::memcmp(want->data(), got->floats.data(), want->size()), 0);
        }
    }
}

// A folder of single tensors, whatever they would be good for.
class TensorFolder {
  public:
    test::SafetensorsWriter writer;
    // The values of a tensor; empty where it is refused, and then `refusal` says why.
    std::vector<float> decode(const std::string& name, const std::vector<int64_t>& shape) {
        writer.write(folder_ / "model.safetensors");
        std::ofstream(folder_ / "config.json") << R"({"model_type": "other"})";
        const std::string out = (folder_ / "out.npy").string();
        const ProcessResult result =
            octavo({"inspect", path(), "--tensor", name, "-o", out, "--json", (folder_ / "out.json").string()});
        refusal = result.errors;
        if (result.exit_code != 0) {
            EXPECT_EQ(result.exit_code, 2);
            return {};
        }
        scales = json::parse(std::ifstream(folder_ / "out.json"), nullptr, false)["scales"];
        const auto npy = test::read_npy(out);
        EXPECT_TRUE(npy) << npy.error().message;
        EXPECT_EQ(npy->shape, shape);
        return npy->floats;
    }
    std::string path() const { return folder_.path().string(); }
    std::string refusal;
    std::vector<std::string> scales;

  private:
    TemporaryFolder folder_;
};

TEST(ModelFiles, Nvfp4OfSafetensorsIsDecodedWithItsScales) {
    const std::vector<std::byte> codes(2 * 16, std::byte{0x72});  // 1 and 6
    const std::vector<std::byte> scales = {std::byte{0x38}, std::byte{0x40}, std::byte{0x30}, std::byte{0x44}};
    const float of_blocks[] = {1, 2, 0.5f, 3};
    const std::vector<float> half = {0.5f};
    TensorFolder folder;
    folder.writer.add("a.weight_packed", "U8", {2, 16}, codes);  // compressed-tensors
    folder.writer.add("a.weight_scale", "F8_E4M3", {2, 2}, scales);
    folder.writer.floats("a.weight_global_scale", {1}, half);
    folder.writer.add("b.weight", "U8", {2, 16}, codes);  // ModelOpt
    folder.writer.add("b.weight_scale", "F8_E4M3", {2, 2}, scales);
    folder.writer.floats("b.weight_scale_2", {}, half);
    folder.writer.add("c.weight", "U8", {2, 16}, codes);
    folder.writer.add("d.weight", "U8", {2, 16}, codes);
    folder.writer.add("d.weight_scale", "F8_E4M3", {1, 2}, std::span(scales).first(2));
    for (const auto& [name, factor] : {std::pair("a.weight_packed", 2.0f), std::pair("b.weight", 0.5f)}) {
        const std::vector<float> got = folder.decode(name, {2, 32});
        ASSERT_EQ(got.size(), 64u) << folder.refusal;
        for (size_t i = 0; i < got.size(); ++i)
            EXPECT_EQ(got[i], factor * of_blocks[i / 16] * (i % 2 == 0 ? 1 : 6)) << name << ", value " << i;
    }
    EXPECT_EQ(folder.scales, (std::vector<std::string>{"b.weight_scale", "b.weight_scale_2"}));
    EXPECT_TRUE(folder.decode("c.weight", {}).empty()) << "no scales";
    EXPECT_NE(folder.refusal.find("'c.weight' has the type U8"), std::string::npos) << folder.refusal;
    EXPECT_TRUE(folder.decode("d.weight", {}).empty()) << "scales of another shape";
    EXPECT_NE(folder.refusal.find("'d.weight_scale' (F8_E4M3 [1][2]) does not fit"), std::string::npos)
        << folder.refusal;
    const json contents = inspect(folder.path());
    for (const auto& [index, supported] : {std::pair(0, true), {3, true}, {6, false}, {7, false}})
        EXPECT_EQ(contents["tensors"][index]["supported"], supported) << contents["tensors"][index];
}

TEST(ModelFiles, Fp8OfSafetensorsIsDecodedWithItsScales) {
    constexpr int64_t kRows = 130, kCols = 256;
    const std::vector<std::byte> codes(kRows * kCols, std::byte{0x40});  // 2
    const std::vector<std::byte> halves = {std::byte{0x80}, std::byte{0x3f}, std::byte{0x00}, std::byte{0x40},
                                           std::byte{0x00}, std::byte{0x3f}, std::byte{0x40}, std::byte{0x40}};
    const float of_blocks[2][2] = {{1, 2}, {0.5f, 3}};  // as BF16 above
    std::vector<float> of_rows(kRows);
    for (size_t i = 0; i < of_rows.size(); ++i) of_rows[i] = static_cast<float>(i);
    TensorFolder folder;
    folder.writer.add("blocks.weight", "F8_E4M3", {kRows, kCols}, codes);
    folder.writer.add("blocks.weight_scale_inv", "BF16", {2, 2}, halves);
    folder.writer.add("whole.weight", "F8_E4M3", {kRows, kCols}, codes);
    folder.writer.floats("whole.weight_scale", {}, std::vector<float>{0.25f});
    folder.writer.add("rows.weight", "F8_E4M3", {kRows, kCols}, codes);
    folder.writer.floats("rows.weight_scale", {kRows, 1}, of_rows);
    folder.writer.add("bare.weight", "F8_E4M3", {kRows, kCols}, codes);
    folder.writer.add("odd.weight", "F8_E4M3", {kCols, kRows}, codes);
    folder.writer.floats("odd.weight_scale_inv", {2, 2}, std::vector<float>(4, 1.0f));
    const auto expect = [&](const std::string& name, auto&& want) {
        const std::vector<float> got = folder.decode(name, {kRows, kCols});
        ASSERT_EQ(got.size(), codes.size()) << folder.refusal;
        for (int64_t i = 0; i < kRows * kCols; ++i)
            ASSERT_EQ(got[static_cast<size_t>(i)], 2 * want(i / kCols, i % kCols)) << name << ", value " << i;
    };
    expect("blocks.weight", [&](int64_t row, int64_t col) { return of_blocks[row / 128][col / 128]; });
    EXPECT_EQ(folder.scales, std::vector<std::string>{"blocks.weight_scale_inv"});
    expect("whole.weight", [&](int64_t, int64_t) { return 0.25f; });
    expect("rows.weight", [&](int64_t row, int64_t) { return static_cast<float>(row); });
    expect("bare.weight", [&](int64_t, int64_t) { return 1.0f; });
    EXPECT_TRUE(folder.scales.empty());
    EXPECT_TRUE(folder.decode("odd.weight", {}).empty()) << "columns are no whole blocks";
    EXPECT_NE(folder.refusal.find("'odd.weight_scale_inv'"), std::string::npos) << folder.refusal;
}

TEST(ModelFiles, FactorsOfGgufAreInTheDecodedValues) {
    const TemporaryFolder folder;
    test::GgufWriter writer;
    writer.text("general.architecture", "qwen35moe");
    const std::vector<float> ones(3 * 2 * 4, 1.0f);
    const std::vector<float> factors = {2, 3, 5};
    const auto bytes = [](const std::vector<float>& values) {
        return std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    };
    writer.tensor("blk.0.ffn_up_exps.weight", {4, 2, 3}, 0, bytes(ones));
    writer.tensor("blk.0.ffn_up_exps.scale", {3}, 0, bytes(factors));
    const std::vector<std::byte> file = writer.finish();
    std::ofstream(folder / "f.gguf", std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    const std::string out = (folder / "out.npy").string();
    const ProcessResult result =
        octavo({"inspect", (folder / "f.gguf").string(), "--tensor", "blk.0.ffn_up_exps.weight", "-o", out});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.output.find("times blk.0.ffn_up_exps.scale"), std::string::npos) << result.output;
    const auto npy = test::read_npy(out);
    ASSERT_TRUE(npy) << npy.error().message;
    EXPECT_EQ(npy->shape, (std::vector<int64_t>{3, 2, 4}));
    for (size_t i = 0; i < npy->floats.size(); ++i) EXPECT_EQ(npy->floats[i], factors[i / 8]) << i;
}

TEST(ModelFiles, FoldersOfOtherFilesAreNamedForWhatTheyAre) {
    const TemporaryFolder folder;
    const auto told = [&](const std::string& command, const std::string& words) {
        const ProcessResult result = octavo({command, "-m", folder.path().string()});
        EXPECT_EQ(result.exit_code, 2) << command;
        EXPECT_NE(result.errors.find(words), std::string::npos) << command << ": " << result.errors;
        EXPECT_NE(result.errors.find(folder.path().string()), std::string::npos) << command << ": " << result.errors;
    };
    for (const std::string command : {"inspect", "memory"}) told(command, "neither config.json nor safetensors");
    std::ofstream(folder / "b.gguf") << "x";
    std::ofstream(folder / "a.gguf") << "x";
    for (const std::string command : {"inspect", "memory"}) told(command, "such as 'a.gguf'");
    const std::string path = folder.path().string();
    EXPECT_NE(octavo({"tokenize", "-m", path, "--text", "x"}).errors.find("such as 'a.gguf'"), std::string::npos);
    test::SafetensorsWriter().write(folder / "model.safetensors");
    std::ofstream(folder / "config.json") << "[1]";
    for (const std::string command : {"inspect", "memory"}) told(command, "config.json is not a JSON object");
    for (const std::string command : {"inspect", "memory"}) {
        std::filesystem::remove(folder / "config.json");
        told(command, "the folder has no config.json; fetch it too");
        std::filesystem::remove(folder / "model.safetensors");
        std::ofstream(folder / "config.json") << "{}";
        told(command, command == "inspect" ? "neither model.safetensors nor" : "config.json");
        test::SafetensorsWriter().write(folder / "model.safetensors");
    }
}

TEST(ModelFiles, AFileOfATokenizerAloneIsNamedForWhatItIs) {
    const TemporaryFolder folder;
    test::GgufWriter writer;
    writer.text("general.architecture", "qwen35moe");
    writer.texts("tokenizer.ggml.tokens", {"a", "b"});
    const std::vector<std::byte> bytes = writer.finish();
    const std::filesystem::path file = folder / "vocabulary.gguf";
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"chat", "-p", "x"}, {"bench"}, {"memory"}}) {
        std::vector<std::string> command = arguments;
        command.insert(command.end(), {"-m", file.string()});
        const ProcessResult result = octavo(command);
        EXPECT_EQ(result.exit_code, 2);
        EXPECT_NE(result.errors.find("holds only a tokenizer"), std::string::npos) << result.errors;
    }
}

TEST(ModelFiles, BrokenFilesAreRefusedWithASentence) {
    const auto index = test::shared_path("fixtures/malformed/index.json");
    if (!index) GTEST_SKIP() << index.error().message;
    int refused = 0;
    for (const auto& entry : std::filesystem::directory_iterator(index->parent_path())) {
        if (entry.path().extension() != ".gguf") continue;
        const ProcessResult result =
            octavo({"logits", "-m", entry.path().string(), "--ids", "1", "-o", "/dev/null", "--json"});
        ASSERT_TRUE(result.exit_code == 0 || result.exit_code == 2)
            << entry.path() << ": " << result.exit_code << result.errors;
        if (result.exit_code == 0) continue;
        ++refused;
        EXPECT_TRUE(result.errors.starts_with("octavo: ")) << entry.path() << ": " << result.errors;
        EXPECT_EQ(result.output, "") << entry.path();
    }
    EXPECT_GT(refused, 80);
}

}  // namespace
}  // namespace octavo
