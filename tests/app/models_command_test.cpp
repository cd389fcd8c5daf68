// octavo make-model and octavo models from outside: files that are made are found, described and run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/process_platform.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

ProcessResult octavo(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), OCTAVO_PROGRAM);
    return run_process(arguments);
}

ProcessResult make_tiny(const fs::path& file, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"make-model", "--shape", "tiny", "--type", "q8_0", "-o", file.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return octavo(std::move(arguments));
}

TEST(ModelsCommand, MadeFilesAreFoundAndRun) {
    const TemporaryFolder folder;
    const fs::path file = folder / "made/Tiny-Q8_0.gguf";
    fs::create_directories(file.parent_path());
    const ProcessResult made = make_tiny(file, {"--mtp", "--json"});
    ASSERT_EQ(made.exit_code, 0) << made.errors;
    EXPECT_EQ(json::parse(made.output)["bytes"], fs::file_size(file));

    const ProcessResult listed = octavo({"models", "--folder", folder.path().string(), "--only", "--json"});
    ASSERT_EQ(listed.exit_code, 0) << listed.errors;
    const json models = json::parse(listed.output)["models"];
    ASSERT_EQ(models.size(), 1u);
    EXPECT_EQ(models[0]["name"], "Tiny-Q8_0");
    EXPECT_EQ(models[0]["verdict"], "usable") << models[0];
    EXPECT_EQ(models[0]["group"], "made");
    EXPECT_EQ(models[0]["notes"].size(), 1u);

    const ProcessResult memory = octavo({"memory", "-m", file.string(), "--device", "cpu", "--json"});
    ASSERT_EQ(memory.exit_code, 0) << memory.errors;
    const json plan = json::parse(memory.output)["plan"];
    EXPECT_EQ(plan.back()["where"], "file");
    EXPECT_EQ(plan.back()["committed_bytes"], 0);
    const ProcessResult bench = octavo({"bench", "-m", file.string(), "--device", "cpu", "-p", "8", "-n", "4",
                                        "--depth", "0", "--repeat", "1", "--json"});
    EXPECT_EQ(bench.exit_code, 0) << bench.errors;
}

TEST(ModelsCommand, BadRequestsAreToldAndLeaveNothing) {
    const TemporaryFolder folder;
    const fs::path file = folder / "a.gguf";
    EXPECT_EQ(octavo({"make-model", "--shape", "900b", "-o", file.string()}).exit_code, 2);
    EXPECT_EQ(octavo({"make-model", "--type", "q9_z", "-o", file.string()}).exit_code, 2);
    EXPECT_EQ(octavo({"models", "--folder", (folder / "none").string()}).exit_code, 2);
    EXPECT_TRUE(fs::is_empty(folder.path()));
    std::ofstream(file) << "precious";
    const ProcessResult refused = make_tiny(file);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.errors.find("--force"), std::string::npos) << refused.errors;
    EXPECT_EQ(fs::file_size(file), 8u);
    EXPECT_EQ(make_tiny(file, {"--force"}).exit_code, 0);
}

TEST(ModelsCommand, SeedsAndFilesThatMakeNoSenseAreRefused) {
    const TemporaryFolder folder;
    const fs::path file = folder / "a.gguf";
    const ProcessResult negative = make_tiny(file, {"--seed", "-1"});
    EXPECT_EQ(negative.exit_code, 2);
    EXPECT_NE(negative.errors.find("'-1'"), std::string::npos) << negative.errors;
    const std::string other_spelling = (folder.path() / "." / "a.gguf").string();
    EXPECT_EQ(make_tiny(file, {"--json", other_spelling}).exit_code, 2) << "the report would replace the model";
    EXPECT_TRUE(fs::is_empty(folder.path()));
    const ProcessResult integers =
        make_tiny(file, {"--tokenizer", test::fixture_path("malformed/tokens-ints.gguf").string()});
    EXPECT_EQ(integers.exit_code, 2);
    EXPECT_NE(integers.errors.find("tokenizer.ggml.tokens"), std::string::npos) << integers.errors;
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(ModelsCommand, SignalsLeaveNoUnfinishedFile) {
    for (const char* signal : {"INT", "TERM", "HUP"}) {
        const TemporaryFolder folder;
        const std::string file = (folder / "a.gguf").string();
        // A shell starts what runs in its background with Ctrl-C ignored; a shell of its own does not.
        const std::string command =
            "set -m; " + std::string(OCTAVO_PROGRAM) + " make-model --shape 35b-a3b --layers 4 --type f16 -o " + file +
            " & pid=$!; while [ ! -s " + file + ".part ]; do sleep 0.02; done; kill -" + signal + " $pid; wait $pid";
        const ProcessResult result = run_process({"/bin/bash", "-c", command});
        EXPECT_EQ(result.exit_code, 130) << signal << ": " << result.errors;
        EXPECT_TRUE(fs::is_empty(folder.path())) << signal;
    }
}

TEST(ModelsCommand, AFullDiskLeavesNoFile) {
    const TemporaryFolder folder;
    // A limit on the size of files stands for a full disk.
    const std::string command = "trap '' XFSZ; ulimit -f 100; exec " + std::string(OCTAVO_PROGRAM) +
                                " make-model --shape tiny --type q8_0 -o " + (folder / "a.gguf").string();
    const ProcessResult result = run_process({"/bin/sh", "-c", command});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.errors.find("the disk is full or failed"), std::string::npos) << result.errors;
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace octavo
