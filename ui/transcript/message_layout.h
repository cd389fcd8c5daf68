// One message as it stands in the transcript: what belongs to it, from top to bottom, and how high each part is.
//
//   user        a card on the right: attachments, text
//   assistant   thinking (folded or open), text or progress, a note
//   both        below that a row with figures and buttons
//
// Threads: the window's.
#pragma once

#include <optional>

#include "ui/state/transcript_state.h"
#include "ui/transcript/block_column.h"

namespace octavo {

class MessageLayout {
  public:
    // Follows the message, without laying anything out.
    void set_message(const std::shared_ptr<const MessageView>& message);
    const MessageView& message() const { return *message_; }

    // Makes the lines for a column of this width, where something changed. Cheap otherwise.
    void lay_out(Ui& ui, float width);
    // Up to date for this width, so that height() holds; else height() is a guess.
    bool laid_out(float width) const { return !stale_ && width == width_; }
    float height() const { return height_; }
    void guess_height(Ui& ui, float width);
    bool lacks_glyphs() const { return text_.lacks_glyphs() || thinking_.lacks_glyphs(); }
    void invalidate();

    bool thinking_open() const { return thinking_open_; }
    void set_thinking_open(bool open);

    const BlockColumn& text() const { return text_; }
    const BlockColumn& thinking() const { return thinking_; }

    // All from the message's top left.
    struct Part {
        float x = 0;
        float y = 0;
        float width = 0;
        float height = 0;
    };
    Part card;  // user: the surface
    Part attachments;
    Part thinking_head;  // the line that folds it open
    Part thinking_text;  // what shows of it
    Part body;           // the text
    Part progress;       // while the prompt is read
    Part note;
    Part foot;  // figures and buttons
    StyledText note_text;
    TextLayout note_layout;
    float thinking_shift = 0;  // of the thinking inside its part: its end shows while it grows

  private:
    std::shared_ptr<const MessageView> message_;
    BlockColumn text_;
    BlockColumn thinking_;
    bool thinking_open_ = false;
    bool stale_ = true;
    float width_ = 0;
    float height_ = 0;
};

}  // namespace octavo
