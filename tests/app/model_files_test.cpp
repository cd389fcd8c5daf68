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

TEST(ModelFiles, CodesOfSafetensorsAreDecodedWithTheirBlockScales) {
    const TemporaryFolder folder;
    test::SafetensorsWriter writer;
    const std::vector<std::byte> codes(2 * 16, std::byte{0x72});  // 1 and 6
    const std::vector<std::byte> scales = {std::byte{0x38}, std::byte{0x40}, std::byte{0x30}, std::byte{0x44}};
    writer.add("a.weight_packed", "U8", {2, 16}, codes);
    writer.add("a.weight_scale", "F8_E4M3", {2, 2}, scales);
    writer.add("b.weight", "U8", {2, 16}, codes);
    writer.write(folder / "model.safetensors");
    std::ofstream(folder / "config.json") << R"({"model_type": "other"})";
    const json contents = inspect(folder.path());
    EXPECT_TRUE(contents["tensors"][0]["supported"].get<bool>());
    EXPECT_FALSE(contents["tensors"][2]["supported"].get<bool>()) << "no scales";
    const std::string out = (folder / "a.npy").string();
    ASSERT_EQ(octavo({"inspect", folder.path().string(), "--tensor", "a.weight_packed", "-o", out}).exit_code, 0);
    const auto got = test::read_npy(out);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->shape, (std::vector<int64_t>{2, 32}));
    const float want[] = {1, 2, 0.5f, 3};
    for (size_t i = 0; i < got->floats.size(); ++i) EXPECT_EQ(got->floats[i], want[i / 16] * (i % 2 == 0 ? 1 : 6)) << i;
    EXPECT_EQ(octavo({"inspect", folder.path().string(), "--tensor", "b.weight", "-o", out}).exit_code, 2);
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
    test::SafetensorsWriter().write(folder / "model.safetensors");
    std::ofstream(folder / "config.json") << "[1]";
    for (const std::string command : {"inspect", "memory"}) told(command, "config.json is not a JSON object");
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
