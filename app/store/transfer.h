// Conversations out of the store and into it: as JSON, which loses nothing, and as Markdown, for people.
//
// The JSON: {"octavo_conversations": 1, "conversations": [...]}. Each has title, titled_by_person, created_ms,
// updated_ms, settings (key: value), shown_root, files (texts of attachments, each once) and messages: id, parent,
// shown (the child that is shown), role, state, text, thinking, ids, with_thinking, figures, created_ms, attachments
// (name, file: place in files). Text that is not UTF-8 is an object {"bytes": "hexadecimal"} instead. What `chat` /save
// and `render` use, {"messages": [{"role", "content"}]}, is read as one conversation too.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/store/records.h"
#include "kernels/base/error.h"

namespace octavo {

constexpr size_t kMaxImportBytes = size_t{1} << 30;

std::string conversations_to_json(const std::vector<StoredConversation>& conversations);
// Refuses what is not such a file, with the reason. Ids are those of the file: Store::add_conversation gives new ones.
Result<std::vector<StoredConversation>> conversations_from_json(std::string_view json);

// What is shown of a conversation: title, system prompt, each message with its role; attachments in folds, thinking
// too.
std::string conversation_to_markdown(const StoredConversation& conversation);

}  // namespace octavo
