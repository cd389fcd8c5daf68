#include "app/desktop/store_edits.h"

#include <algorithm>
#include <set>
#include <utility>

namespace octavo {

const StoredMessage* find_message(const StoredConversation& conversation, int64_t id) {
    const auto found = std::find_if(conversation.messages.begin(), conversation.messages.end(),
                                    [&](const StoredMessage& message) { return message.id == id; });
    return found != conversation.messages.end() ? &*found : nullptr;
}

StoredMessage* find_message(StoredConversation& conversation, int64_t id) {
    return const_cast<StoredMessage*>(find_message(std::as_const(conversation), id));
}

void show_message(StoredConversation& conversation, int64_t id) {
    // Never longer than there are messages, whatever a damaged file says about parents.
    for (size_t steps = 0; steps < conversation.messages.size() && id != 0; ++steps) {
        const StoredMessage* message = find_message(conversation, id);
        if (message == nullptr) return;
        StoredMessage* parent = find_message(conversation, message->parent_id);
        (parent != nullptr ? parent->shown_child_id : conversation.shown_root_id) = id;
        id = message->parent_id;
    }
}

void add_shown(StoredConversation& conversation, StoredMessage message) {
    const int64_t id = message.id;
    conversation.messages.push_back(std::move(message));
    show_message(conversation, id);
}

void apply_finished(StoredMessage& message, const FinishedReply& reply) {
    message.state = reply.state;
    message.text = reply.text;
    message.thinking = reply.thinking;
    message.ids = reply.ids;
    message.with_thinking = reply.with_thinking;
    message.figures = reply.figures;
}

void delete_branch(StoredConversation& conversation, int64_t id) {
    std::set<int64_t> doomed = {id};
    // Parents come before children.
    for (const StoredMessage& message : conversation.messages)
        if (doomed.count(message.parent_id) > 0) doomed.insert(message.id);
    std::erase_if(conversation.messages, [&](const StoredMessage& message) { return doomed.count(message.id) > 0; });
    for (StoredMessage& message : conversation.messages)
        if (doomed.count(message.shown_child_id) > 0) message.shown_child_id = 0;
    if (doomed.count(conversation.shown_root_id) > 0) conversation.shown_root_id = 0;
}

}  // namespace octavo
