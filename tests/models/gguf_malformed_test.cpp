// Broken GGUF files: each is refused with a sentence that names what is wrong, at a bounded cost in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/model.h"
#include "tests/support/paths.h"

namespace octavo {
namespace {

using Json = nlohmann::json;

Json read_index() {
    std::ifstream in(test::fixture_path("malformed/index.json"));
    return Json::parse(in, nullptr, false);
}

// What a sentence must contain: the key or tensor at fault, except where the fault hides it.
std::string expected_place(const Json& entry) {
    static const std::map<std::string, std::string> special = {
        {"magic-ggml.gguf", "magic"},
        {"ssm-conv-8.gguf", "'blk.0.ssm_conv1d.weight'"},  // key and tensor disagree; the tensor is named
    };
    const auto found = special.find(entry["file"]);
    if (found != special.end()) return found->second;
    return entry["at"].is_string() ? entry["at"].get<std::string>() : std::string();
}

bool is_one_sentence(const std::string& text) {
    return text.ends_with('.') && std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string fixture(const Json& entry) {
    return test::fixture_path("malformed/" + entry["file"].get<std::string>()).string();
}

TEST(GgufMalformed, EveryFaultIsRefusedWithItsPlace) {
    int refused = 0;
    for (const Json& entry : read_index()) {
        if (entry["expect"] != "reject") continue;
        SCOPED_TRACE(entry["file"].get<std::string>() + ": " + entry["fault"].get<std::string>());
        const auto model = open_model(fixture(entry));
        ASSERT_FALSE(model) << "was accepted";
        const std::string& message = model.error().message;
        EXPECT_NE(message.find(expected_place(entry)), std::string::npos) << message;
        EXPECT_TRUE(is_one_sentence(message)) << message;
        EXPECT_EQ(model.error().kind, ErrorKind::input);
        ++refused;
    }
    EXPECT_EQ(refused, 85);
}

TEST(GgufMalformed, DoubtfulFilesAreEitherSoundOrRefusedWithASentence) {
    int seen = 0;
    for (const Json& entry : read_index()) {
        if (entry["expect"] != "either") continue;
        SCOPED_TRACE(entry["file"].get<std::string>());
        const auto model = open_model(fixture(entry));
        const std::string message = model ? expected_place(entry) : model.error().message;
        EXPECT_NE(message.find(expected_place(entry)), std::string::npos) << message;
        ++seen;
    }
    EXPECT_EQ(seen, 19);
}

TEST(GgufMalformed, TheSoundOriginalsOpen) {
    for (const std::string file : {"malformed/micro-qwen3next.gguf", "malformed/micro-qwen35moe.gguf"}) {
        const auto model = open_model(test::fixture_path(file));
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_EQ((*model)->config.vocab, 272);
    }
}

// A file cut at any place is refused, and so is every cut of the same bytes in memory.
TEST(GgufMalformed, EveryCutIsRefused) {
    const auto bytes = test::read_file(test::fixture_path("malformed/micro-qwen35moe.gguf"));
    ASSERT_TRUE(bytes);
    for (size_t length = 0; length < bytes->size(); length += length < 6000 ? 1 : 97) {
        EXPECT_FALSE(open_model(std::span(*bytes).first(length), "cut")) << length << " bytes were accepted";
    }
}

// "VmHWM: 1234 kB" of this process; nothing where the system does not tell.
std::optional<size_t> peak_memory_bytes() {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    }
    return std::nullopt;
}

bool reset_peak_memory() {
    std::ofstream out("/proc/self/clear_refs");
    out << "5" << std::flush;
    return out.good();
}

TEST(GgufMalformed, PeakMemoryStaysWithinTheFileAnd64MiB) {
    if (!reset_peak_memory()) GTEST_SKIP() << "the system does not let a process reset its peak memory";
    const auto before = peak_memory_bytes();
    if (!before) GTEST_SKIP() << "the system does not tell a process its peak memory";
    size_t largest_file = 0;
    for (const Json& entry : read_index()) {
        (void)open_model(fixture(entry));
        largest_file = std::max<size_t>(largest_file, std::filesystem::file_size(fixture(entry)));
    }
    const size_t grown = *peak_memory_bytes() - *before;
    EXPECT_LT(grown, largest_file + (size_t{64} << 20));
}

}  // namespace
}  // namespace octavo
