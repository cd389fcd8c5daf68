// Conversations as JSON: what `render --messages` and `chat` /save read and write.
//
// A file is an array of messages, or an object with an array `messages`; a message has `role` (system, user,
// assistant), `content` (a string) and optionally `reasoning_content`.
#pragma once

#include <string>
#include <vector>

#include "models/chat/chat_template.h"

namespace octavo {

Result<std::vector<Message>> parse_messages(const std::string& json_text);
// Refuses to overwrite a file that is not such an object, so that a wrong name costs nothing. Empty files hold nothing.
Status check_messages_target(const std::string& file);
std::string messages_json(const std::vector<Message>& messages);

}  // namespace octavo
