// Safetensors headers and file lists, sound and broken.
#include "models/safetensors/header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "models/gguf/gguf_file.h"

namespace octavo {
namespace {

// A file with this header and `data_bytes` bytes of data; `claimed` overrides the header length.
std::vector<std::byte> file_of(std::string_view header, size_t data_bytes, uint64_t claimed = 0) {
    const uint64_t length = claimed ? claimed : header.size();
    std::vector<std::byte> bytes(sizeof length + header.size() + data_bytes);
    std::memcpy(bytes.data(), &length, sizeof length);
    std::memcpy(bytes.data() + sizeof length, header.data(), header.size());
    return bytes;
}

std::string failure(std::string_view header, size_t data_bytes, uint64_t claimed = 0) {
    const auto bytes = file_of(header, data_bytes, claimed);
    const auto tensors = parse_safetensors(bytes);
    return tensors ? "accepted" : tensors.error().message;
}

TEST(Safetensors, ReadsTensors) {
    const auto bytes = file_of(R"({"__metadata__":{"format":"pt"},
        "b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},
        "a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},
        "codes":{"dtype":"F4","shape":[8],"data_offsets":[16,20]}})",
                               20);
    const auto tensors = parse_safetensors(bytes);
    ASSERT_TRUE(tensors) << tensors.error().message;
    ASSERT_EQ(tensors->size(), 3u);
    const StoredTensor& a = (*tensors)[1];
    EXPECT_EQ(a.name, "a");
    EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(a.data.size(), 12u);
    EXPECT_EQ(a.weight->name, "BF16");
    EXPECT_EQ((*tensors)[0].elements(), 1);
    EXPECT_EQ((*tensors)[2].weight, nullptr);  // unknown types can be listed, not used
    EXPECT_EQ((*tensors)[2].type_name, "F4");
}

TEST(Safetensors, RefusesBrokenHeaders) {
    EXPECT_EQ(parse_safetensors(std::vector<std::byte>(7)).error().message, "the file ends inside the header length");
    EXPECT_EQ(failure("{}", 0, uint64_t{1} << 62),
              "the header claims 4611686018427387904 bytes; the file has 2 and at most 67108864 are accepted");
    EXPECT_NE(failure(R"({"a":)", 0).find("not valid JSON"), std::string::npos);
    EXPECT_EQ(failure("[1]", 0), "the header is not a JSON object of tensors");
    EXPECT_EQ(failure("7", 0), "the header is not a JSON object of tensors");
    EXPECT_EQ(failure(R"({"a":3})", 0), "the header is not a JSON object of tensors");
    EXPECT_NE(failure(std::string(100000, '['), 0), "accepted");
    EXPECT_NE(failure("{\"a\xff\":{}}", 0).find("not valid JSON"), std::string::npos);
}

TEST(Safetensors, NamesWhatIsNoModel) {
    const std::pair<const char*, const char*> files[] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "it is a Git LFS pointer"},
        {"\n<!DOCTYPE html><html><body>Sign in</body></html>", "it is a web page"},
        {"<HTML><body>404</body></HTML>", "it is a web page"},
        {R"({"error":"Repository not found"})", "it is JSON"},
        {"PK\x03\x04 archive/data.pkl", "it is a ZIP archive"},
        {"anything else at all", "the header claims"}};
    for (const auto& [text, words] : files) {
        const auto bytes = std::as_bytes(std::span(text, std::strlen(text)));
        EXPECT_TRUE(parse_safetensors(bytes).error().message.starts_with(words)) << text;
        const std::string gguf = parse_gguf(bytes).error().message;
        const bool known = !std::string_view(words).starts_with("the header");
        EXPECT_TRUE(gguf.starts_with(known ? words : "the magic number is not GGUF")) << gguf;
    }
}

TEST(Safetensors, HeadersHaveLimits) {
    constexpr size_t kMostBytes = 64 << 20;
    EXPECT_EQ(failure("{}" + std::string(kMostBytes - 2, ' '), 0), "accepted");
    EXPECT_NE(failure("{}" + std::string(kMostBytes - 1, ' '), 0).find("the header claims 67108865 bytes"),
              std::string::npos);
    constexpr int kMostTensors = 1 << 18;
    std::string header = "{";
    for (int i = 0; i < kMostTensors; ++i)
        header += "\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
    header.back() = '}';
    EXPECT_EQ(failure(header, 0), "accepted");
    header.back() = ',';
    EXPECT_EQ(failure(header + R"("more":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0),
              "the header has more than 262144 tensors");
}

TEST(Safetensors, RefusesBrokenEntriesByTensor) {
    const auto entry = [](std::string_view text) { return failure("{\"w\":{" + std::string(text) + "}}", 16); };
    EXPECT_EQ(entry(R"("dtype":"F32","shape":[4],"data_offsets":[0,16])"), "accepted");
    EXPECT_EQ(entry(R"("dtype":"F32","shape":[4],"data_offsets":[0,12])"),
              "tensor 'w' has 12 bytes of data; its shape and type F32 need 16");
    EXPECT_NE(entry(R"("dtype":"F32","shape":[4],"data_offsets":[4,20])").find("tensor 'w' (bytes 4 to 20 of 16)"),
              std::string::npos);
    EXPECT_NE(entry(R"("dtype":"F32","shape":[4],"data_offsets":[16,0])").find("'w'"), std::string::npos);
    EXPECT_EQ(entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16])"),
              "tensor 'w' claims more values than memory has");
    EXPECT_EQ(entry(R"("dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0])"),
              "tensor 'w' claims more values than memory has");
    for (const char* text :
         {R"("dtype":"F32","shape":[4])", R"("shape":[4],"data_offsets":[0,16])",
          R"("dtype":"F32","shape":[-4],"data_offsets":[0,16])", R"("dtype":"F32","shape":[4.0],"data_offsets":[0,16])",
          R"("dtype":7,"shape":[4],"data_offsets":[0,16])", R"("dtype":"F32","shape":[[4]],"data_offsets":[0,16])",
          R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16])",
          R"("dtype":"F32","shape":[4],"data_offsets":[0,16],"more":{})"}) {
        EXPECT_NE(entry(text).find("tensor 'w'"), std::string::npos) << text << ": " << entry(text);
    }
}

TEST(TensorStore, FindsEveryTensorOfSeveralFiles) {
    TensorStore store;
    EXPECT_EQ(store.find("0"), -1);
    constexpr int kFiles = 3, kTensors = 1000;
    for (int file = 0; file < kFiles; ++file) {
        std::vector<StoredTensor> tensors(kTensors);
        for (int i = 0; i < kTensors; ++i) tensors[static_cast<size_t>(i)].name = std::to_string(file * kTensors + i);
        ASSERT_TRUE(store.add(std::move(tensors)));
    }
    for (int i = 0; i < kFiles * kTensors; ++i) ASSERT_EQ(store.find(std::to_string(i)), i);
    EXPECT_EQ(store.find("x"), -1);
    std::vector<StoredTensor> again(1);
    again[0].name = "1234";
    EXPECT_EQ(store.add(std::move(again)).error().message, "tensor '1234' occurs twice");
}

TEST(Safetensors, RefusesOverlap) {
    EXPECT_EQ(failure(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]},
                          "b":{"dtype":"U8","shape":[8],"data_offsets":[8,16]}})",
                      16),
              "tensor 'b' overlaps tensor 'a'");
}

TEST(SafetensorsIndex, ListsEachFileOnce) {
    const auto files = parse_safetensors_index(R"({"metadata":{"total_size":1,"weight_map":{"x":"no.safetensors"}},
        "weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"}})");
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(*files, (std::vector<std::string>{"m-1.safetensors", "m-2.safetensors"}));
}

TEST(SafetensorsIndex, NoFileLeavesTheFolder) {
    for (const char* name : {"../m.safetensors", "a/m.safetensors", "a\\\\m.safetensors", "C:m.safetensors",
                             ".safetensors", "m.bin", "", "m\\u0000.safetensors"}) {
        const auto files = parse_safetensors_index("{\"weight_map\":{\"a\":\"" + std::string(name) + "\"}}");
        ASSERT_FALSE(files) << name;
        EXPECT_NE(files.error().message.find("'weight_map' names the file"), std::string::npos) << name;
    }
    EXPECT_FALSE(parse_safetensors_index("{}"));
    EXPECT_FALSE(parse_safetensors_index("{"));
    EXPECT_FALSE(parse_safetensors_index(R"({"weight_map":{}})"));
}

}  // namespace
}  // namespace octavo
