#include "app/store/message_tree.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "app/chat/conversation.h"

namespace octavo {
namespace {

// Children of each message in order; key 0: the first messages, and those whose parent is missing.
using Children = std::unordered_map<int64_t, std::vector<const StoredMessage*>>;

Children children_of(const StoredConversation& conversation) {
    std::unordered_set<int64_t> ids;
    for (const StoredMessage& message : conversation.messages) ids.insert(message.id);
    Children children;
    for (const StoredMessage& message : conversation.messages) {
        const bool has_parent = message.parent_id < message.id && ids.contains(message.parent_id);
        children[has_parent ? message.parent_id : 0].push_back(&message);
    }
    return children;
}

const StoredMessage* shown_child(const Children& children, int64_t parent_id, int64_t shown_id) {
    const auto found = children.find(parent_id);
    if (found == children.end()) return nullptr;
    for (const StoredMessage* child : found->second)
        if (child->id == shown_id) return child;
    return found->second.back();
}

}  // namespace

std::vector<const StoredMessage*> shown_messages(const StoredConversation& conversation) {
    const Children children = children_of(conversation);
    std::vector<const StoredMessage*> shown;
    // Ends, because a child's id is greater than its parent's.
    for (const StoredMessage* message = shown_child(children, 0, conversation.shown_root_id); message != nullptr;
         message = shown_child(children, message->id, message->shown_child_id))
        shown.push_back(message);
    return shown;
}

std::vector<int64_t> alternatives(const StoredConversation& conversation, int64_t message_id) {
    for (const auto& [parent, group] : children_of(conversation)) {
        std::vector<int64_t> ids;
        for (const StoredMessage* message : group) ids.push_back(message->id);
        if (std::find(ids.begin(), ids.end(), message_id) != ids.end()) return ids;
    }
    return {};
}

Message prompt_message(const StoredMessage& message, std::string_view model) {
    Message prompt;
    prompt.role = message.role;
    for (const Attachment& attachment : message.attachments) {
        if (!prompt.content.empty()) prompt.content += kAfterDocument;
        prompt.content += attachment.text;
    }
    prompt.attached_bytes = prompt.content.size();
    if (!prompt.content.empty() && !message.text.empty()) prompt.content += kAfterDocument;
    prompt.content += message.text;
    prompt.reasoning = message.thinking;
    if (message.figures.model == model) prompt.ids = message.ids;
    prompt.thinking = message.with_thinking;
    return prompt;
}

StoredMessage stored_message(const Message& message, int64_t parent_id) {
    StoredMessage stored;
    stored.parent_id = parent_id;
    stored.role = message.role;
    stored.text = typed_part(message);
    stored.thinking = message.reasoning;
    if (message.attached_bytes > 0)
        stored.attachments = {{"document", message.content.substr(0, message.attached_bytes)}};
    return stored;
}

std::vector<const StoredMessage*> messages_for_prompt(const StoredConversation& conversation) {
    std::vector<const StoredMessage*> messages = shown_messages(conversation);
    std::erase_if(messages, [](const StoredMessage* message) {
        return message->role == Role::assistant && message->text.empty() && message->ids.empty();
    });
    return messages;
}

std::vector<Message> prompt_messages(const StoredConversation& conversation, std::string_view model) {
    std::vector<Message> messages;
    if (const auto system = conversation.settings.text("system_prompt"); system && !system->empty())
        messages.push_back({Role::system, *system});
    for (const StoredMessage* message : messages_for_prompt(conversation))
        messages.push_back(prompt_message(*message, model));
    return messages;
}

}  // namespace octavo
