#include "tests/support/byte_vocabulary.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace octavo::test {
namespace {

std::string utf8(int character) {
    if (character < 0x80) return {static_cast<char>(character)};
    return {static_cast<char>(0xC0 | character >> 6), static_cast<char>(0x80 | (character & 0x3F))};
}

const char* pattern_of(BpeSplit split) {
    return split == BpeSplit::qwen2
               ? R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
               : R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

}  // namespace

std::string byte_name(uint8_t byte) {
    const auto printable = [](int b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD); };
    if (printable(byte)) return utf8(byte);
    int others = 0;
    for (int b = 0; b < byte; ++b) others += !printable(b);
    return utf8(0x100 + others);
}

std::string byte_names(std::string_view bytes) {
    std::string names;
    for (const char c : bytes) names += byte_name(static_cast<uint8_t>(c));
    return names;
}

int32_t ByteVocabulary::add(std::string token, int32_t type) {
    tokens.push_back(std::move(token));
    types.push_back(type);
    return static_cast<int32_t>(tokens.size()) - 1;
}

int32_t ByteVocabulary::merge(const std::string& left, const std::string& right) {
    merges.push_back(left + " " + right);
    return add(left + right);
}

Result<std::shared_ptr<const Tokenizer>> ByteVocabulary::make() const {
    const std::vector<std::string_view> token_views(tokens.begin(), tokens.end());
    const std::vector<std::string_view> merge_views(merges.begin(), merges.end());
    return make_bpe_tokenizer({token_views, types, merge_views, split, normalises, special, vocab_size});
}

void ByteVocabulary::write(GgufWriter& file) const {
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", split == BpeSplit::qwen2 ? "qwen2" : "qwen35");
    file.texts("tokenizer.ggml.tokens", tokens);
    file.i32s("tokenizer.ggml.token_type", types);
    file.texts("tokenizer.ggml.merges", merges);
}

std::string ByteVocabulary::tokenizer_json() const {
    nlohmann::json vocab = nlohmann::json::object();
    nlohmann::json added = nlohmann::json::array();
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        if (types[id] == 1) vocab[tokens[id]] = id;
        if (types[id] == 3 || types[id] == 4)
            added.push_back({{"id", id}, {"content", tokens[id]}, {"special", types[id] == 3}, {"lstrip", false}});
    }
    const nlohmann::json split_step = {
        {"type", "Split"}, {"pattern", {{"Regex", pattern_of(split)}}}, {"behavior", "Isolated"}, {"invert", false}};
    const nlohmann::json byte_step = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
    return nlohmann::json{
        {"version", "1.0"},
        {"added_tokens", added},
        {"normalizer", normalises ? nlohmann::json{{"type", "NFC"}} : nlohmann::json()},
        {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", nlohmann::json::array({split_step, byte_step})}}},
        {"model", {{"type", "BPE"}, {"dropout", nullptr}, {"vocab", vocab}, {"merges", merges}}}}
        .dump();
}

ByteVocabulary plain_bytes() {
    ByteVocabulary v;
    for (int byte = 0; byte < 256; ++byte) v.add(byte_name(static_cast<uint8_t>(byte)));
    for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) v.add(control, 3);
    for (const char* tag : {"<think>", "</think>"}) v.add(tag, 4);
    v.special.end_of_text = 258;
    return v;
}

ByteVocabulary trained_on(std::string_view text, int merges) {
    ByteVocabulary v = plain_bytes();
    std::vector<std::string> row;
    for (const char c : text) row.push_back(byte_name(static_cast<uint8_t>(c)));
    for (int i = 0; i < merges; ++i) {
        std::map<std::pair<std::string, std::string>, int> counts;
        for (std::size_t at = 0; at + 1 < row.size(); ++at) ++counts[{row[at], row[at + 1]}];
        auto best = counts.begin();
        for (auto pair = counts.begin(); pair != counts.end(); ++pair)
            if (pair->second > best->second) best = pair;
        if (best == counts.end() || best->second < 2) break;
        const auto [left, right] = best->first;
        v.merge(left, right);
        std::vector<std::string> merged;
        for (std::size_t at = 0; at < row.size(); ++at) {
            const bool here = at + 1 < row.size() && row[at] == left && row[at + 1] == right;
            merged.push_back(here ? left + right : row[at]);
            at += here;
        }
        row = std::move(merged);
    }
    return v;
}

}  // namespace octavo::test
