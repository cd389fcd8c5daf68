// The program on model files of every kind: folders, unsupported weights, broken files.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/process_platform.h"

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

TEST(ModelFiles, UnsupportedWeightsAreInspectedAndRefused) {
    const auto file = test::shared_path("fixtures/quant_types/quant_types.gguf");
    if (!file) GTEST_SKIP() << file.error().message;
    const json contents = inspect(*file);
    EXPECT_FALSE(contents["supported"]);
    EXPECT_FALSE(contents["unsupported"].empty());
    EXPECT_GT(contents["tensors"].size(), 20u);
    EXPECT_EQ(octavo({"chat", "-m", file->string(), "-p", "x"}).exit_code, 2);
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
