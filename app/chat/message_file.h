// Conversations as JSON: what `render --messages` and `chat` /save read and write.
//
// A file is an array of messages, or an object with an array `messages`; a message has `role` (system, user,
// assistant, tool), `content` (a string, or null) and optionally `reasoning_content` and `tool_calls`.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "models/chat/message.h"

namespace octavo {

Result<std::vector<Message>> parse_messages(const std::string& json_text);
// Refuses to overwrite a file that is not such an object, so that a wrong name costs nothing. Empty files hold nothing.
Status check_messages_target(const std::string& file);
std::string messages_json(const std::vector<Message>& messages);

// A JSON file with an array of tools: what --tools reads. An empty name: no tools.
Result<std::vector<std::string>> read_tools_file(const std::string& file);

}  // namespace octavo
