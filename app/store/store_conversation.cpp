// Whole conversations of the store, read and added.
#include <fmt/format.h>

#include <unordered_map>

#include "app/store/attachments.h"
#include "app/store/reply_figures.h"
#include "app/store/reply_parts.h"
#include "app/store/sqlite.h"
#include "app/store/store.h"

namespace octavo {
namespace {

constexpr const char* kMessageColumns =
    "id, parent_id, shown_child_id, role, state, text, thinking, ids, with_thinking, figures, created_ms";

// Calls to `problem` are sentences about this row; the rest of it is read all the same.
template <class Problem>
StoredMessage read_message(const Statement& row, Problem&& problem) {
    StoredMessage message;
    message.id = row.integer(0);
    message.parent_id = row.integer(1);
    message.shown_child_id = row.integer(2);
    if (!parse_role(row.text(3), message.role))
        problem(fmt::format("Message {} has an unknown role and is shown as a person's.", message.id));
    if (!parse_message_state(row.text(4), message.state))
        problem(fmt::format("The state of message {} is unknown; it is shown as complete.", message.id));
    message.text = row.text(5);
    message.thinking = row.text(6);
    message.ids = unpack_ids(row.bytes(7));
    message.with_thinking = row.integer(8) != 0;
    if (!parse_figures(row.text(9), message.figures))
        problem(fmt::format("The figures of message {} could not be read.", message.id));
    message.created_ms = row.integer(10);
    return message;
}

}  // namespace

Result<StoredConversation> Store::conversation(int64_t id) {
    StoredConversation whole;
    const Result<ConversationSummary> head = summary(id);
    if (!head) {
        note_damage();
        return head.error();
    }
    whole.summary = *head;
    // What fails from here on costs only what it would have read.
    const auto keep_going = [&](const Status& status) {
        if (status) return;
        note_damage();
        whole.problems.push_back(status.error().message);
    };
    const Result<int64_t> root = database_->value("SELECT shown_root_id FROM conversations WHERE id = ?", id);
    if (root) whole.shown_root_id = *root;
    keep_going(database_->each_row(
        "SELECT key, value FROM conversation_settings WHERE conversation_id = ?",
        [&](const Statement& row) { whole.settings.set_json(row.text(0), row.text(1)); }, id));
    keep_going(database_->each_row(
        fmt::format("SELECT {} FROM messages WHERE conversation_id = ? ORDER BY id", kMessageColumns),
        [&](const Statement& row) {
            whole.messages.push_back(
                read_message(row, [&](const std::string& sentence) { whole.problems.push_back(sentence); }));
        },
        id));
    for (StoredMessage& message : whole.messages) {
        const AttachmentOwner owner{AttachmentOwner::Kind::message, message.id};
        keep_going(read_attachments(*database_, owner, message.attachments));
        if (message.state != MessageState::streaming) continue;
        Result<ReplyPart> parts = read_reply_parts(*database_, message.id);
        if (!parts) {
            keep_going(parts.error());
            continue;
        }
        message.text = std::move(parts->text);
        message.thinking = std::move(parts->thinking);
        message.ids = std::move(parts->ids);
    }
    return whole;
}

Result<int64_t> Store::add_conversation(const StoredConversation& conversation) {
    int64_t id = 0;
    const Status written = write([&]() -> Status {
        const ConversationSummary& head = conversation.summary;
        const auto or_now = [now = now_ms()](int64_t ms) { return ms != 0 ? ms : now; };
        if (const Status done = database_->run(
                "INSERT INTO conversations (title, titled_by_person, created_ms, updated_ms) VALUES (?, ?, ?, ?)",
                head.title, head.titled_by_person, or_now(head.created_ms), or_now(head.updated_ms));
            !done)
            return done;
        id = database_->last_row_id();
        if (const Status done = write_conversation_settings(id, conversation.settings); !done) return done;
        std::unordered_map<int64_t, int64_t> new_ids;  // 0, and what is not there, stays 0
        for (const StoredMessage& message : conversation.messages) {
            StoredMessage copy = message;
            copy.parent_id = new_ids[message.parent_id];
            if (copy.state == MessageState::streaming) copy.state = MessageState::stopped;
            const Result<int64_t> added = insert_message(id, copy, or_now(message.created_ms));
            if (!added) return added.error();
            new_ids[message.id] = *added;
        }
        new_ids[0] = 0;
        for (const StoredMessage& message : conversation.messages)
            if (message.shown_child_id != 0)
                if (const Status done = show_child(id, new_ids[message.id], new_ids[message.shown_child_id]); !done)
                    return done;
        return show_child(id, 0, new_ids[conversation.shown_root_id]);
    });
    if (!written) return written.error();
    return id;
}

}  // namespace octavo
