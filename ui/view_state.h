// Everything the window draws, as plain values. Whoever runs the engine and the store fills one of these and hands it
// over; the window never asks for more and never changes it. What it wants is said in actions (ui/actions.h).
//
// Threads: values.
// Non-goals: what is local to the window (text being typed, what is folded open, scroll positions) is not here.
#pragma once

#include <string>
#include <vector>

#include "ui/actions.h"
#include "ui/state/composer_state.h"
#include "ui/state/conversations_state.h"
#include "ui/state/engine_state.h"
#include "ui/state/file_browser_state.h"
#include "ui/state/kv_state.h"
#include "ui/state/model_state.h"
#include "ui/state/recall_state.h"
#include "ui/state/sampling_state.h"
#include "ui/state/transcript_state.h"

namespace octavo {

enum class NoticeKind { information, success, warning, error };

// A sentence that stays until it is dismissed, or until whoever made it takes it away.
struct Notice {
    int64_t id = 0;
    NoticeKind kind = NoticeKind::information;
    std::string text = {};
    struct Button {
        std::string label = {};
        Action action;
    };
    std::vector<Button> buttons = {};
};

// What an empty window says to somebody new.
struct WelcomeState {
    bool shown = false;
    std::string model = {};                     // "Pocket, a small model inside this program, is ready."
    std::string machine = {};                   // what this machine can run
    std::string example_name = {};              // of the example document; empty: there is none
    std::vector<std::string> suggestions = {};  // questions that can be asked with one click
};

struct ViewState {
    EngineState engine;
    ConversationsState conversations;
    TranscriptState transcript;
    ComposerState composer;
    ModelState model;
    KvState kv;
    RecallState recall;
    SamplingState sampling;
    WelcomeState welcome;
    FileBrowserState file_browser;
    std::vector<Notice> notices = {};
};

}  // namespace octavo
