// The same changes to a conversation in memory that the store has just made on disk, so that it need not be read again.
//
// Threads: pure functions.
#pragma once

#include "app/store/records.h"

namespace octavo {

const StoredMessage* find_message(const StoredConversation& conversation, int64_t id);
StoredMessage* find_message(StoredConversation& conversation, int64_t id);

// As Store::add_message and Store::begin_reply: shown under its parent.
void add_shown(StoredConversation& conversation, StoredMessage message);
// As Store::show_message.
void show_message(StoredConversation& conversation, int64_t id);
// As Store::finish_reply.
void apply_finished(StoredMessage& message, const FinishedReply& reply);
// As Store::delete_branch.
void delete_branch(StoredConversation& conversation, int64_t id);

}  // namespace octavo
