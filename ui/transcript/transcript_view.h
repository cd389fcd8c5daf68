// The transcript: messages one below the other, of which only the visible ones are drawn, and text that can be selected
// across all of them. It stays at its end while a reply grows, unless the person scrolled away from there.
//
// Heights of messages that were never seen are guesses until there is time to lay them out; what is on the screen does
// not move when a guess is put right.
//
// Threads: the window's.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ui/actions.h"
#include "ui/state/engine_state.h"
#include "ui/state/transcript_state.h"
#include "ui/transcript/message_layout.h"
#include "ui/transcript/text_selection.h"
#include "ui/ui.h"

namespace octavo {

class TranscriptView {
  public:
    // Fills the rest of the region.
    void draw(Ui& ui, const TranscriptState& state, const EngineState& engine, Actions& actions);

    void scroll_to_end() { follows_ = true; }
    std::string selected_text() const;
    bool at_end() const { return follows_; }

  private:
    void follow_state(Ui& ui, const TranscriptState& state);
    void lay_out(Ui& ui);
    void place_messages();
    size_t message_near(float y) const;  // y within the content
    void handle_mouse(Ui& ui, Actions& actions);
    void handle_scrolling(Ui& ui);
    void draw_scrollbar(Ui& ui);
    std::optional<TextPlace> place_at(Ui& ui, ImVec2 point) const;  // point on the screen
    ImVec2 column_origin(size_t message, MessageSection section) const;
    const BlockColumn& column(size_t message, MessageSection section) const;
    void select_at(Ui& ui, ImVec2 point, int clicks);

    int64_t conversation_ = 0;
    std::vector<std::unique_ptr<MessageLayout>> messages_;
    std::vector<float> tops_;  // of each message within the content, and the end of the last
    const Fonts* fonts_ = nullptr;
    float scale_ = 0;

    // The region on the screen, and the column of text in it.
    ImVec2 origin_;
    ImVec2 size_;
    float column_x_ = 0;
    float column_width_ = 0;

    float scroll_ = 0;  // pixels above the region
    bool follows_ = true;
    bool selecting_ = false;
    TextSelection selection_;
};

}  // namespace octavo
