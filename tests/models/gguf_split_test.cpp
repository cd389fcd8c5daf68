// Models in several GGUF files, made here: any shard opens the whole, and what is wrong with one is said with its name.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "models/gguf/checkpoint.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

// What one shard of three says about itself, to be spoilt by the tests.
struct Shard {
    uint32_t count = 3;
    uint32_t number = 0;
    uint32_t tensors = 3;
    std::string tensor;
};

std::string shard_name(int number, int count = 3) {
    const std::string digits = "0000";
    return "model-" + digits + std::to_string(number) + "-of-" + digits + std::to_string(count) + ".gguf";
}

class GgufSplit : public testing::Test {
  protected:
    GgufSplit() {
        for (uint32_t i = 0; i < 3; ++i) shards_[i] = {.number = i, .tensor = "t" + std::to_string(i)};
    }

    void write() const {
        for (int i = 0; i < 3; ++i) write(shards_[i], shard_name(i + 1));
    }
    void write(const Shard& shard, const std::string& name) const {
        test::GgufWriter file;
        file.u32("split.count", shard.count);
        file.u32("split.no", shard.number);
        file.u32("split.tensors.count", shard.tensors);
        file.text("only.in", name);
        file.floats(shard.tensor, {4}, 1.0f);
        const std::vector<std::byte> bytes = file.finish();
        std::ofstream out(path(name), std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

    void expect_refused(const std::string& part, const std::string& opened = shard_name(1)) const {
        const auto checkpoint = open_gguf(path(opened));
        ASSERT_FALSE(checkpoint) << part;
        EXPECT_NE(checkpoint.error().message.find(part), std::string::npos) << checkpoint.error().message;
    }

    Shard shards_[3];
    TemporaryFolder folder_;
};

TEST_F(GgufSplit, AnyShardOpensTheWhole) {
    write();
    for (int number = 1; number <= 3; ++number) {
        const auto checkpoint = open_gguf(path(shard_name(number)));
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        EXPECT_EQ(checkpoint->tensors.tensors().size(), 3u);
        const auto only = checkpoint->metadata.text("only.in");
        ASSERT_TRUE(only);
        EXPECT_EQ(**only, shard_name(1)) << "the first file's metadata counts";
    }
}

TEST_F(GgufSplit, AMissingShardIsNamed) {
    write();
    std::filesystem::remove(path(shard_name(2)));
    for (const int opened : {1, 3}) expect_refused("file 2 of 3 ('model-00002-of-00003.gguf')", shard_name(opened));
}

TEST_F(GgufSplit, ShardsInTheWrongOrderAreNamed) {
    std::swap(shards_[1].number, shards_[2].number);
    write();
    expect_refused("file 2 of 3 ('model-00002-of-00003.gguf'): key 'split.no' is 2; expected 1");
}

TEST_F(GgufSplit, AShardOfAnotherModelIsNamed) {
    shards_[2].count = 4;
    write();
    expect_refused("file 3 of 3 ('model-00003-of-00003.gguf'): key 'split.count' is 4, but 3 in the first file");
    shards_[2].count = 3;
    shards_[2].tensors = 7;
    write();
    expect_refused(
        "file 3 of 3 ('model-00003-of-00003.gguf'): key 'split.tensors.count' is 7, but 3 in the first file");
    shards_[2].tensors = 3;
    shards_[2].tensor = "t0";
    write();
    expect_refused("file 3 of 3 ('model-00003-of-00003.gguf'): tensor 't0' occurs twice");
}

TEST_F(GgufSplit, WrongNumbersOfTensorsAreRefused) {
    for (Shard& shard : shards_) shard.tensors = 4;
    write();
    expect_refused("key 'split.tensors.count' is 4, but the 3 files hold 3 tensors");
}

TEST_F(GgufSplit, ACutShardIsNamed) {
    write();
    std::filesystem::resize_file(path(shard_name(2)), 100);
    expect_refused("file 2 of 3 ('model-00002-of-00003.gguf')");
    std::filesystem::resize_file(path(shard_name(2)), 0);
    expect_refused("file 2 of 3 ('model-00002-of-00003.gguf')");
}

TEST_F(GgufSplit, RenamedFilesCannotFindTheOthers) {
    write();
    std::filesystem::rename(path(shard_name(1)), path("renamed.gguf"));
    expect_refused("keep the original names", "renamed.gguf");
}

}  // namespace
}  // namespace octavo
