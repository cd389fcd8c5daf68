// Draws one message where its layout puts it, with its buttons.
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/state/engine_state.h"
#include "ui/transcript/message_layout.h"
#include "ui/transcript/text_selection.h"
#include "ui/ui.h"

namespace octavo {

struct MessageDrawing {
    ImVec2 origin;  // of the message on the screen
    float top = 0;  // what is visible of the screen
    float bottom = 0;
    size_t index = 0;  // in the transcript
    bool newest = false;
    bool under_mouse = false;
};

void draw_message(Ui& ui, MessageLayout& layout, const MessageDrawing& drawing, const TextSelection& selection,
                  const EngineState& engine, Actions& actions);

// "reused 21,311 of 21,340 tokens, read 29 at 341 tok/s, wrote 121 at 38 tok/s"
std::string figures_text(const ReplyFiguresView& figures);

}  // namespace octavo
