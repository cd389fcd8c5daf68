// Messages of the store: adding, streaming, showing and deleting them.
#include <fmt/format.h>

#include "app/store/attachments.h"
#include "app/store/reply_figures.h"
#include "app/store/reply_parts.h"
#include "app/store/sqlite.h"
#include "app/store/store.h"
#include "app/store/title.h"

namespace octavo {
namespace {

Error no_message(int64_t id) {
    return {ErrorKind::usage, fmt::format("There is no message {}: it was deleted meanwhile.", id)};
}

struct Place {
    int64_t conversation_id = 0;
    int64_t parent_id = 0;
};

Result<Place> place_of(const Database& database, int64_t message_id) {
    Result<Statement> row = database.prepare("SELECT conversation_id, parent_id FROM messages WHERE id = ?");
    if (!row) return row.error();
    const Result<bool> found = row->bind(message_id).step();
    if (!found) return found.error();
    if (!*found) return no_message(message_id);
    return Place{row->integer(0), row->integer(1)};
}

Status give_title(const Database& database, int64_t conversation_id, const std::string& title) {
    return database.run("UPDATE conversations SET title = ? WHERE id = ? AND title = ''", title, conversation_id);
}

}  // namespace

Result<int64_t> Store::insert_message(int64_t conversation_id, const StoredMessage& message, int64_t created_ms) {
    if (const Status done = database_->run("INSERT INTO messages (conversation_id, parent_id, role, state, text, "
                                           "thinking, ids, with_thinking, figures, "
                                           "created_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                           conversation_id, message.parent_id, role_name(message.role),
                                           message_state_name(message.state), message.text, message.thinking,
                                           std::span<const std::byte>(pack_ids(message.ids)), message.with_thinking,
                                           figures_json(message.figures), created_ms);
        !done)
        return done.error();
    const int64_t id = database_->last_row_id();
    const AttachmentOwner owner{AttachmentOwner::Kind::message, id};
    if (const Status done = add_attachments(*database_, owner, message.attachments); !done) return done.error();
    return id;
}

Status Store::show_child(int64_t conversation_id, int64_t parent_id, int64_t child_id) {
    if (parent_id == 0)
        return database_->run("UPDATE conversations SET shown_root_id = ? WHERE id = ?", child_id, conversation_id);
    return database_->run("UPDATE messages SET shown_child_id = ? WHERE id = ?", child_id, parent_id);
}

Status Store::touch_conversation(int64_t id) {
    return database_->run("UPDATE conversations SET updated_ms = ? WHERE id = ?", now_ms(), id);
}

Result<int64_t> Store::add_message(int64_t conversation_id, const StoredMessage& message) {
    int64_t id = 0;
    const Status written = write([&]() -> Status {
        if (const Result<ConversationSummary> there = summary(conversation_id); !there) return there.error();
        if (message.parent_id != 0) {
            const Result<Place> parent = place_of(*database_, message.parent_id);
            if (!parent) return parent.error();
            if (parent->conversation_id != conversation_id) return no_message(message.parent_id);
        }
        const Result<int64_t> added = insert_message(conversation_id, message, now_ms());
        if (!added) return added.error();
        id = *added;
        if (const Status done = show_child(conversation_id, message.parent_id, id); !done) return done;
        if (const Status done = touch_conversation(conversation_id); !done) return done;
        if (message.role != Role::user) return {};
        if (const Status done = give_title(*database_, conversation_id, title_from(message)); !done) return done;
        return database_->run("DELETE FROM drafts WHERE conversation_id = ?", conversation_id);
    });
    if (!written) return written.error();
    return id;
}

Result<int64_t> Store::begin_reply(int64_t conversation_id, int64_t parent_id) {
    StoredMessage reply;
    reply.parent_id = parent_id;
    reply.role = Role::assistant;
    reply.state = MessageState::streaming;
    return add_message(conversation_id, reply);
}

Status Store::append_reply(int64_t message_id, const ReplyPart& part) {
    return write([&]() -> Status {
        const Result<int64_t> streaming =
            database_->value("SELECT count(*) FROM messages WHERE id = ? AND state = 'streaming'", message_id);
        if (!streaming) return streaming.error();
        if (*streaming == 0) return no_message(message_id);
        return add_reply_part(*database_, message_id, part);
    });
}

Status Store::finish_reply(int64_t message_id, const FinishedReply& reply) {
    return write([&]() -> Status {
        const Result<Place> place = place_of(*database_, message_id);
        if (!place) return place.error();
        if (const Status done = database_->run(
                "UPDATE messages SET state = ?, text = ?, thinking = ?, ids = ?, with_thinking = ?, figures = ? "
                "WHERE id = ? AND state = 'streaming'",
                message_state_name(reply.state), reply.text, reply.thinking,
                std::span<const std::byte>(pack_ids(reply.ids)), reply.with_thinking, figures_json(reply.figures),
                message_id);
            !done)
            return done;
        if (database_->changed_rows() == 0) return no_message(message_id);
        if (const Status done = database_->run("DELETE FROM reply_parts WHERE message_id = ?", message_id); !done)
            return done;
        return touch_conversation(place->conversation_id);
    });
}

Status Store::show_message(int64_t message_id) {
    return write([&]() -> Status {
        // A parent's id is smaller than its child's, so this ends even in a damaged file.
        for (int64_t id = message_id; id != 0;) {
            const Result<Place> place = place_of(*database_, id);
            if (!place) return place.error();
            if (const Status done = show_child(place->conversation_id, place->parent_id, id); !done) return done;
            id = place->parent_id < id ? place->parent_id : 0;
        }
        return {};
    });
}

Status Store::delete_branch(int64_t message_id) {
    return write([&]() -> Status {
        if (const Result<Place> place = place_of(*database_, message_id); !place) return place.error();
        if (const Status done =
                database_->run("WITH RECURSIVE branch (id) AS (VALUES (?) UNION SELECT messages.id FROM branch JOIN "
                               "messages ON parent_id = branch.id AND conversation_id = "
                               "(SELECT conversation_id FROM messages WHERE id = ?)) "
                               "DELETE FROM messages WHERE id IN branch",
                               message_id, message_id);
            !done)
            return done;
        return delete_unused_attachments(*database_);
    });
}

}  // namespace octavo
