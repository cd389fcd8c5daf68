// What a conversation remembers about how it is held: its KV cache, context, sampling, system prompt, and from which
// message on it is read.
//
// Threads: values and pure functions.
#pragma once

#include "app/desktop/engine_port.h"
#include "app/store/settings.h"
#include "ui/state/sampling_state.h"

namespace octavo {

struct ConversationSettings {
    CacheWish cache;
    SamplingChoice sampling;
    // Messages before this one are no longer part of the prompt: the person dropped them for room. 0: all are.
    int64_t first_message_read = 0;
    int64_t dropped_tokens = 0;  // of what is left out, as counted by the replies before dropped_at
    int64_t dropped_at = 0;      // the newest message when it was left out
};

Settings to_stored(const ConversationSettings& settings);
// What is missing, or of no use to this version, is as in `defaults`.
ConversationSettings from_stored(const Settings& stored, const ConversationSettings& defaults);

}  // namespace octavo
