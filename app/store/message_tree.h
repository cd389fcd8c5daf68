// The messages of a conversation as a tree: an edited question or a reply made again is another child of the same
// message. What is shown is one path through it, and each message remembers which of its children is on it.
//
// Threads: pure functions. A tree with loops or missing parents (a damaged file) is followed as far as it makes sense.
#pragma once

#include <cstdint>
#include <vector>

#include "app/store/records.h"

namespace octavo {

// From the first message to the last one shown. Pointers into `conversation`.
std::vector<const StoredMessage*> shown_messages(const StoredConversation& conversation);

// The ids of the messages at the same place as this one, itself included, oldest first. Empty where it is not there.
std::vector<int64_t> alternatives(const StoredConversation& conversation, int64_t message_id);

// What is shown, as a prompt for a model: attachments, then the text. The system prompt in the settings comes first.
// Replies without any text (stopped before the first word, failed) are left out.
std::vector<Message> prompt_messages(const StoredConversation& conversation);

// A person's text below its attachments, as it goes into a prompt.
Message prompt_message(const StoredMessage& message);

}  // namespace octavo
