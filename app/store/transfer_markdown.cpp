// The Markdown side of transfer.h.
#include <fmt/format.h>

#include <algorithm>

#include "app/date_text.h"
#include "app/store/message_tree.h"
#include "app/store/transfer.h"

namespace octavo {
namespace {

const char* heading(Role role) {
    switch (role) {
        case Role::system: return "System";
        case Role::user: return "You";
        case Role::assistant: return "Reply";
        case Role::tool: return "Tool";
    }
    return "";
}

const char* state_words(MessageState state) {
    switch (state) {
        case MessageState::complete: return "";
        case MessageState::streaming: return " (still coming)";
        case MessageState::stopped: return " (stopped)";
        case MessageState::failed: return " (failed)";
    }
    return "";
}

// A fence that no line of the text can close.
std::string fenced(const std::string& text) {
    size_t longest = 2;
    size_t run = 0;
    for (const char c : text) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    return fmt::format("{0}\n{1}{2}{0}\n", fence, text, text.ends_with('\n') ? "" : "\n");
}

std::string fold(const std::string& summary, const std::string& text) {
    std::string escaped;
    for (const char c : summary) escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", escaped, fenced(text));
}

}  // namespace

std::string conversation_to_markdown(const StoredConversation& conversation) {
    const ConversationSummary& head = conversation.summary;
    std::string page = fmt::format("# {}\n\n", head.title.empty() ? "Untitled" : head.title);
    page += fmt::format("{} UTC\n\n", date_text(head.created_ms));
    if (const auto system = conversation.settings.text("system_prompt"); system && !system->empty())
        page += fmt::format("## {}\n\n{}\n\n", heading(Role::system), *system);
    for (const StoredMessage* message : shown_messages(conversation)) {
        page += fmt::format("## {}{}\n\n", heading(message->role), state_words(message->state));
        for (const Attachment& attachment : message->attachments) page += fold(attachment.name, attachment.text);
        if (!message->thinking.empty()) page += fold("Thinking", message->thinking);
        page += message->text;
        page += message->text.ends_with('\n') ? "\n" : "\n\n";
    }
    return page;
}

}  // namespace octavo
