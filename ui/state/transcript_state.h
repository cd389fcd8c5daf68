// The conversation in the middle of the window: the messages on the path that is shown, and the engine's work on the
// newest one.
//
// Threads: values. Messages are shared and never change once handed over: a message that grew is a new object with a
// higher revision, so a snapshot of a long conversation costs one pointer a message.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/chat/chat_template.h"

namespace octavo {

struct AttachmentState {
    std::string name = {};
    int64_t bytes = 0;
    int64_t tokens = -1;  // -1: being counted
};

// What a reply cost; shown under it.
struct ReplyFiguresView {
    int64_t prompt_tokens = 0;
    int64_t reused_tokens = 0;
    int64_t prefilled_tokens = 0;
    double prefill_tokens_per_s = 0;
    int64_t decoded_tokens = 0;
    double decode_tokens_per_s = 0;
    std::string scheme = {};  // "q4_0, window 128, sinks 64"
    std::string device = {};
};

enum class MessagePhase {
    complete,
    queued,      // waits for the engine
    prefilling,  // its prompt is being read
    thinking,
    writing,
    stopped,  // by the person, or at a limit: `note` says which
    failed,   // `note` is the error's sentence
};

struct MessageView {
    int64_t id = 0;         // unique in the conversation
    uint64_t revision = 0;  // grows whenever anything below changes
    Role role = Role::user;
    MessagePhase phase = MessagePhase::complete;
    std::string text = {};  // any bytes; broken UTF-8 is shown as U+FFFD
    std::string thinking = {};
    double thinking_seconds = 0;  // so far, while it thinks
    std::vector<AttachmentState> attachments = {};
    std::string note = {};
    int sibling = 1;  // this branch among `siblings` (from 1)
    int siblings = 1;
    bool in_context = true;  // false: no longer part of what the model reads
    std::optional<ReplyFiguresView> figures = {};

    bool busy() const {
        return phase == MessagePhase::queued || phase == MessagePhase::prefilling || phase == MessagePhase::thinking ||
               phase == MessagePhase::writing;
    }
};

struct TranscriptState {
    int64_t conversation = 0;  // 0: none is open
    std::string title = {};
    std::vector<std::shared_ptr<const MessageView>> messages = {};  // oldest first
    bool loading = false;
    std::string error = {};  // why it could not be opened whole; what could be read is in `messages`
};

}  // namespace octavo
