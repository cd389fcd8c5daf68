// What a conversation is made of, as templates see it.
//
// Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

enum class Role { system, user, assistant, tool };

// A model's wish to have a tool run.
struct ToolCall {
    std::string name;
    std::string arguments;  // JSON: an object
    bool operator==(const ToolCall&) const = default;
};

struct Message {
    Role role = Role::user;
    std::string content = {};    // without the thinking part
    std::string reasoning = {};  // assistant only: the text between <think> and </think>
    // Assistant only: the tokens that were generated after the generation prompt, thinking included, without the one
    // that ended the reply. Empty: the text above is all there is.
    std::vector<int32_t> ids = {};
    bool thinking = true;  // with `ids`: RenderOptions::thinking of the prompt that they answered
    // User only: how many bytes at the start of `content` are documents; what a person typed comes after them.
    size_t attached_bytes = 0;
    std::vector<ToolCall> calls = {};  // assistant only: after the content
    bool has_content = true;           // false: the content is null, which some templates refuse
};

}  // namespace octavo
