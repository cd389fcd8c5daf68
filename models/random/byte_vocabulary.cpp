#include "models/random/byte_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace octavo {
namespace {

enum TokenType : int32_t { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5 };

struct AddedToken {
    std::string_view text;
    TokenType type;
};

// In the order of their ids, without gaps.
constexpr AddedToken kAdded[] = {
    {"<|endoftext|>", kControl},        {"<|im_start|>", kControl},        {"<|im_end|>", kControl},
    {"<|object_ref_start|>", kControl}, {"<|object_ref_end|>", kControl},  {"<|box_start|>", kControl},
    {"<|box_end|>", kControl},          {"<|quad_start|>", kControl},      {"<|quad_end|>", kControl},
    {"<|vision_start|>", kControl},     {"<|vision_end|>", kControl},      {"<|vision_pad|>", kControl},
    {"<|image_pad|>", kControl},        {"<|video_pad|>", kControl},       {"<tool_call>", kUserDefined},
    {"</tool_call>", kUserDefined},     {"<|fim_prefix|>", kUserDefined},  {"<|fim_middle|>", kUserDefined},
    {"<|fim_suffix|>", kUserDefined},   {"<|fim_pad|>", kUserDefined},     {"<|repo_name|>", kUserDefined},
    {"<|file_sep|>", kUserDefined},     {"<tool_response>", kUserDefined}, {"</tool_response>", kUserDefined},
    {"<think>", kUserDefined},          {"</think>", kUserDefined},
};
constexpr int kTurnEnd = 2;  // <|im_end|>, from the first added token

// Left and right part of a token each; both stand before it.
constexpr std::string_view kMerges[] = {"Ġ t", "Ġ a", "h e", "i n", "Ġt he", "r e", "o n", "e r", "Ġ s", "a t"};

void append_utf8(std::string& text, uint32_t point) {
    if (point < 0x80) {
        text += static_cast<char>(point);
    } else {
        text += static_cast<char>(0xc0 | point >> 6);
        text += static_cast<char>(0x80 | (point & 0x3f));
    }
}

bool is_visible(uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

// Visible bytes stand for themselves and come first; the others follow, as characters from U+0100.
std::vector<std::string> byte_tokens() {
    std::vector<std::string> tokens;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        if (is_visible(byte)) append_utf8(tokens.emplace_back(), byte);
    }
    for (uint32_t point = 0x100; tokens.size() < 256; ++point) append_utf8(tokens.emplace_back(), point);
    return tokens;
}

}  // namespace

void write_byte_vocabulary(int vocab, int first_added, std::string_view split_rule, GgufHeaderWriter& header) {
    std::vector<std::string> tokens = byte_tokens();
    std::vector<std::string> merges;
    for (const std::string_view merge : kMerges) {
        merges.emplace_back(merge);
        const size_t space = merge.find(' ');
        tokens.push_back(std::string(merge.substr(0, space)) + std::string(merge.substr(space + 1)));
    }
    std::vector<int32_t> types(tokens.size(), kNormal);
    const auto pad_to = [&](int size) {
        while (static_cast<int>(tokens.size()) < size) {
            tokens.push_back(fmt::format("[unused{}]", tokens.size()));
            types.push_back(kUnused);
        }
    };
    pad_to(first_added);
    for (const AddedToken& added : kAdded) {
        tokens.emplace_back(added.text);
        types.push_back(added.type);
    }
    pad_to(vocab);

    header.text("tokenizer.ggml.model", "gpt2");
    header.text("tokenizer.ggml.pre", split_rule);
    header.texts("tokenizer.ggml.tokens", tokens);
    header.i32s("tokenizer.ggml.token_type", types);
    header.texts("tokenizer.ggml.merges", merges);
    header.u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(first_added + kTurnEnd));
    header.u32("tokenizer.ggml.padding_token_id", static_cast<uint32_t>(first_added));
    header.boolean("tokenizer.ggml.add_bos_token", false);
}

}  // namespace octavo
