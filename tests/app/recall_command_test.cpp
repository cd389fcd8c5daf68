// `octavo recall` from outside.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process_platform.h"

namespace octavo {
namespace {

using nlohmann::json;

ProcessResult recall(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {OCTAVO_PROGRAM, "recall", "--needles", "4", "--lengths", "700", "--families",
                                         "word_code,digits", "--kv-window", "128", "--fidelity-positions", "128"});
    return run_process(arguments);
}

std::string file_named(const std::string& name) {
    const auto path = std::filesystem::path(testing::TempDir()) / name;
    std::filesystem::remove(path);
    return path.string();
}

json read_json(const std::string& path) {
    std::ifstream in(path);
    return json::parse(in, nullptr, false);
}

void drop_times(json& value) {
    if (value.is_object()) value.erase("timing");
    for (json& part : value)
        if (part.is_structured()) drop_times(part);
}

TEST(Recall, JsonHasTheFields) {
    const ProcessResult result = recall({"--kv", "q4_0", "--json", "-"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const json report = json::parse(result.output, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << result.output;
    ASSERT_TRUE(report["runs"].is_array());
    for (const char* field : {"scheme", "length", "depth", "n", "correct", "wilson_low", "wilson_high", "wrong",
                              "empty", "mean_logprob", "zone"})
        EXPECT_TRUE(report["runs"][0].contains(field)) << field;
    EXPECT_EQ(report["reference"]["scheme"], "bf16");
    EXPECT_EQ(report["differences"].size(), 1u);
    ASSERT_EQ(report["controls"].size(), 2u);
    EXPECT_EQ(report["controls"][0]["masked_n"], 4);
    EXPECT_EQ(report["controls"][0]["masked_right"], 0);
}

TEST(Recall, JsonIsTheSameEveryTimeButForTimes) {
    const auto run = [] {
        json report = json::parse(recall({"--kv", "q4_0,q8_0", "--no-controls", "--json", "-"}).output, nullptr, false);
        drop_times(report);
        return report;
    };
    const json first = run();
    ASSERT_FALSE(first.is_discarded());
    EXPECT_EQ(first["differences"].size(), 2u);
    EXPECT_EQ(first, run());
}

TEST(Recall, GoesOnFromTheFileOfAStoppedRun) {
    const std::string whole = file_named("octavo_recall_whole.json");
    const std::string part = file_named("octavo_recall_part.json");
    ASSERT_EQ(recall({"--kv", "q4_0", "--no-controls", "--json", whole}).exit_code, 0);
    json stopped = read_json(whole);
    stopped["sections"].erase(1);
    stopped["cancelled"] = true;
    std::ofstream(part) << stopped;

    const ProcessResult other = recall({"--kv", "q8_0", "--no-controls", "--resume", "--json", part});
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_NE(other.errors.find("settings"), std::string::npos) << other.errors;

    const ProcessResult resumed = recall({"--kv", "q4_0", "--no-controls", "--resume", "--json", part});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
    EXPECT_NE(resumed.errors.find("after 1 finished part"), std::string::npos) << resumed.errors;
    json a = read_json(whole), b = read_json(part);
    EXPECT_EQ(a["sections"][0]["timing"], b["sections"][0]["timing"]) << "not run again";
    drop_times(a);
    drop_times(b);
    EXPECT_EQ(a, b);
}

TEST(Recall, ThresholdsDecideTheExitCode) {
    const ProcessResult result = recall({"--kv", "q4_0", "--no-controls", "--max-kl", "1e-9"});
    EXPECT_EQ(result.exit_code, 1) << result.errors;
    EXPECT_NE(result.output.find("failed: q4_0"), std::string::npos) << result.output;
}

TEST(Recall, StopsAndKeepsWhatIsDone) {
    TerminalProcess process({OCTAVO_PROGRAM, "recall", "--kv", "q4_0", "--lengths", "16k", "--no-controls"});
    ASSERT_TRUE(process.wait_for("recall")) << process.seen();
    process.type("\x03");
    EXPECT_EQ(process.exit_code(), 130) << process.seen();
    EXPECT_NE(process.seen().find("0 finished parts"), std::string::npos) << process.seen();
}

TEST(Recall, WritesEveryAnswerAsCsv) {
    const std::string csv = file_named("octavo_recall.csv");
    ASSERT_EQ(recall({"--kv", "bf16", "--no-controls", "--csv", csv}).exit_code, 0);
    std::ifstream in(csv);
    int lines = 0;
    for (std::string line; std::getline(in, line); ++lines) {
        if (lines > 0) continue;
        EXPECT_TRUE(line.starts_with("scheme,window,sinks,length,seed")) << line;
    }
    EXPECT_EQ(lines, 5) << "a heading and four needles";
}

}  // namespace
}  // namespace octavo
