// The messages of a conversation as a tree: an edited question or a reply made again is another child of the same
// message. What is shown is one path through it, and each message remembers which of its children is on it.
//
// Threads: pure functions. A tree with loops or missing parents (a damaged file) is followed as far as it makes sense.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "app/store/records.h"

namespace octavo {

// From the first message to the last one shown. Pointers into `conversation`.
std::vector<const StoredMessage*> shown_messages(const StoredConversation& conversation);

// The ids of the messages at the same place as this one, itself included, oldest first. Empty where it is not there.
std::vector<int64_t> alternatives(const StoredConversation& conversation, int64_t message_id);

// What of it goes into a prompt: not the replies without any text (stopped before the first word, failed).
std::vector<const StoredMessage*> messages_for_prompt(const StoredConversation& conversation);

// These as a prompt for the model of this name; the system prompt in the settings comes first.
std::vector<Message> prompt_messages(const StoredConversation& conversation, std::string_view model);

// A person's text below its attachments, as it goes into a prompt. The ids of a reply are another model's tokens where
// that is not the one that wrote it: they are left out then.
Message prompt_message(const StoredMessage& message, std::string_view model);

// The way back, for a message of a chat, whose documents are joined into one text: one attachment. Without an id.
StoredMessage stored_message(const Message& message, int64_t parent_id);

}  // namespace octavo
