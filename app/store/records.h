// What the store keeps: conversations, their messages as a tree, drafts, recall runs. Plain values.
//
// Times are milliseconds since 1970 (UTC). An id is positive; 0 stands for "none".
// Threads: values, no shared state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/store/settings.h"
#include "models/chat/chat_template.h"

namespace octavo {

enum class MessageState {
    complete,
    streaming,  // its reply is being written
    stopped,    // by a person, or because the program ended in the middle of it
    failed,     // the note in its figures says why
};
std::string_view message_state_name(MessageState state);
std::string_view role_name(Role role);
// False, and the value left alone, for an unknown name.
bool parse_message_state(std::string_view name, MessageState& state);
bool parse_role(std::string_view name, Role& role);

// A text file that goes with a message, whole. The store keeps each text once, however many messages have it.
struct Attachment {
    std::string name;
    std::string text;

    friend bool operator==(const Attachment&, const Attachment&) = default;
};

// How a reply came about.
struct ReplyFigures {
    int64_t prompt_tokens = 0;
    int64_t reused_tokens = 0;
    int64_t prefilled_tokens = 0;
    int64_t generated_tokens = 0;
    double prefill_seconds = 0;
    double decode_seconds = 0;
    double total_seconds = 0;
    double thinking_seconds = 0;
    std::string stop;  // as stop_reason_name() says
    std::string note;  // a sentence for a person, else empty
    std::string model;
    std::string scheme;
    int64_t window = 0;  // newest tokens held in FP16 too
    int64_t sinks = 0;   // first tokens likewise
    std::string device;

    friend bool operator==(const ReplyFigures&, const ReplyFigures&) = default;
};

struct StoredMessage {
    int64_t id = 0;
    int64_t parent_id = 0;       // 0: begins the conversation
    int64_t shown_child_id = 0;  // which of its children is shown; 0: the newest
    Role role = Role::user;
    MessageState state = MessageState::complete;
    std::string text;           // exactly as typed or generated, without attachments
    std::string thinking;       // replies only
    std::vector<int32_t> ids;   // replies only: the generated tokens (see Message::ids)
    bool with_thinking = true;  // replies only: see Message::thinking
    std::vector<Attachment> attachments;
    ReplyFigures figures;
    int64_t created_ms = 0;
};

struct ConversationSummary {
    int64_t id = 0;
    std::string title;
    bool titled_by_person = false;  // else the title comes from the first message
    int64_t created_ms = 0;
    int64_t updated_ms = 0;  // last message
    int64_t deleted_ms = 0;  // 0: not in the trash
};

struct StoredConversation {
    ConversationSummary summary;
    Settings settings;
    int64_t shown_root_id = 0;            // which of the first messages is shown; 0: the newest
    std::vector<StoredMessage> messages;  // all branches, parents before children
    // A sentence for each thing that could not be read as it was written; the rest is here.
    std::vector<std::string> problems;
};

// What stands in the composer.
struct Draft {
    std::string text;
    std::vector<Attachment> attachments;

    bool empty() const { return text.empty() && attachments.empty(); }
    friend bool operator==(const Draft&, const Draft&) = default;
};

// A piece of a reply that is being written.
struct ReplyPart {
    std::string text;
    std::string thinking;
    std::vector<int32_t> ids;
};

// How a reply ended: the whole of it, and what is known about it.
struct FinishedReply {
    MessageState state = MessageState::complete;
    std::string text;
    std::string thinking;
    std::vector<int32_t> ids;
    bool with_thinking = true;
    ReplyFigures figures;
};

struct RecallRunSummary {
    int64_t id = 0;
    int64_t created_ms = 0;
    std::string model;
    std::string scheme;      // what was tested
    int64_t min_length = 0;  // tokens
    int64_t max_length = 0;
};

struct RecallRun {
    RecallRunSummary summary;
    std::string report;  // JSON
};

struct SearchHit {
    ConversationSummary conversation;
    int64_t message_id = 0;  // 0: the title matched
    std::string excerpt;     // one line of the text around the match
};

struct SearchResults {
    std::vector<SearchHit> hits;  // titles first, then messages, newest first; one for each conversation
    // A search that would read too much (words of one or two characters, which are not indexed; words whose parts are
    // everywhere, but not they themselves) looks at the newest messages only; so many older ones it did not look at.
    int64_t messages_not_searched = 0;
};

}  // namespace octavo
