// Programs that these tests start keep their conversations in a folder of the tests, not in the person's own.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "app/store/store.h"

namespace octavo {
namespace {

class OwnUserFolder : public testing::Environment {
  public:
    void SetUp() override {
        const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        folder_ = std::filesystem::path(testing::TempDir()) / ("octavo_user_" + std::to_string(now));
        setenv("XDG_DATA_HOME", folder_.c_str(), 1);
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

  private:
    std::filesystem::path folder_;
};

testing::Environment* const kOwnUserFolder = testing::AddGlobalTestEnvironment(new OwnUserFolder);

TEST(UserFolder, IsWhereTheEnvironmentSays) {
    ASSERT_NE(kOwnUserFolder, nullptr);
    EXPECT_EQ(default_store_file(), std::filesystem::path(std::getenv("XDG_DATA_HOME")) / "octavo/conversations.db");
}

}  // namespace
}  // namespace octavo
