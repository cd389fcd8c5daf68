// --equalise and --outliers, as a person uses them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process_platform.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class EqualiseCommand : public testing::Test {
  protected:
    void SetUp() override {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::temp_directory_path() / (std::string("octavo-equalise-") + test->name());
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    // The program with a cache folder of its own.
    ProcessResult octavo(const std::vector<std::string>& arguments) const {
        std::vector<std::string> command = {"/usr/bin/env", "XDG_CACHE_HOME=" + folder_.string(), OCTAVO_PROGRAM};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return run_process(command);
    }
    json logits(const std::vector<std::string>& more, std::string* errors = nullptr) const {
        std::vector<std::string> arguments = {"logits",
                                              "--text",
                                              "The access code of the lighthouse is QUARTZ-DELTA-8813.",
                                              "--kv",
                                              "f32",
                                              "-o",
                                              (folder_ / "logits.npy").string(),
                                              "--json",
                                              "-"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const ProcessResult result = octavo(arguments);
        EXPECT_EQ(result.exit_code, 0) << result.errors;
        if (errors != nullptr) *errors = result.errors;
        json parsed = json::parse(result.output, nullptr, false);
        EXPECT_FALSE(parsed.is_discarded()) << result.output;
        return parsed;
    }

    fs::path folder_;
};

TEST_F(EqualiseCommand, ChangesNothingButTheScaling) {
    const json plain = logits({});
    EXPECT_EQ(plain["equalise"], "off");
    EXPECT_FALSE(fs::exists(folder_ / "octavo")) << "nothing is measured where nothing asks for it";
    const json free = logits({"--equalise", "free"});
    EXPECT_EQ(free["equalise"], "free");
    EXPECT_EQ(free["argmax"], plain["argmax"]);

    std::string said;
    const json calibrated = logits({"--equalise", "calibrated"}, &said);
    EXPECT_EQ(calibrated["argmax"], plain["argmax"]);
    EXPECT_NE(said.find("Measured the channels"), std::string::npos) << said;
    const json hard = logits({"--equalise", "calibrated", "--outliers", "20"}, &said);
    EXPECT_EQ(said, "") << "measured once";
    EXPECT_EQ(hard["argmax"], plain["argmax"]);
    EXPECT_EQ(hard["outliers"], 20);
}

TEST_F(EqualiseCommand, RefusesWhatItDoesNotKnow) {
    const ProcessResult unknown = octavo({"chat", "-p", "x", "--equalise", "loud"});
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_NE(unknown.errors.find("\"loud\""), std::string::npos) << unknown.errors;
    for (const char* spread : {"-3", "0.5", "nan", "inf"}) {
        const ProcessResult small =
            octavo({"logits", "--ids", "1,2", "--outliers", spread, "-o", (folder_ / "x.npy").string()});
        EXPECT_EQ(small.exit_code, 2) << spread;
        EXPECT_NE(small.errors.find("spread"), std::string::npos) << small.errors;
    }
}

}  // namespace
}  // namespace octavo
