// Where a message is written: the field, what is attached, what it will cost, and the button that sends or stops.
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/state/composer_state.h"
#include "ui/state/engine_state.h"
#include "ui/text/text_editor.h"

namespace octavo {

class ComposerView {
  public:
    // Pixels that it takes at this width.
    float height(Ui& ui, const ComposerState& state, float width);
    void draw(Ui& ui, const ComposerState& state, const EngineState& engine, float width, Actions& actions);

    void focus() { editor_.focus(); }
    bool focused() const { return editor_.focused(); }
    const std::string& text() const { return editor_.text(); }

  private:
    TextEditorOptions editor_options(Ui& ui, float width) const;
    void follow_state(const ComposerState& state);
    bool can_send(const ComposerState& state, const EngineState& engine) const;
    void send(Actions& actions);
    void draw_attachments(Ui& ui, const ComposerState& state, float width, Actions& actions);
    void draw_foot(Ui& ui, const ComposerState& state, const EngineState& engine, float width, Actions& actions);

    TextEditor editor_;
    uint64_t draft_revision_ = 0;
};

// "1,204 tokens + 4,096 for the reply": what stands beside the gauge.
std::string gauge_text(const ComposerState& state);

}  // namespace octavo
