// The field in which a message is written, and what it would cost.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ui/state/transcript_state.h"

namespace octavo {

// What the person types lives in the window; the draft here is what to begin with. It is taken over whenever
// `draft_revision` differs from the last one seen: another conversation, an edit, a message that was refused.
struct ComposerState {
    std::string draft = {};
    uint64_t draft_revision = 0;
    int64_t editing_message = 0;  // sending replaces this message; 0: a new one
    std::vector<AttachmentState> attachments = {};

    int64_t message_tokens = 0;  // of the text typed and what is attached
    bool counting = false;       // message_tokens is of an older text
    int64_t held_tokens = 0;     // of the conversation so far
    int64_t reserve_tokens = 0;  // kept for the reply
    int64_t context_tokens = 0;  // the limit; 0: no model

    bool can_send = false;
    std::string blocked_reason = {};  // why not, with numbers; empty while there is nothing to say
};

}  // namespace octavo
