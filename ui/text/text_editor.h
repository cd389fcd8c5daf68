// A field of several lines that wraps what is written in it. (Dear ImGui's own field does not wrap.)
//
// Enter hands the text in; Shift+Enter begins a new line.
//
// Threads: the window's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ui/text/text_buffer.h"
#include "ui/text/text_layout.h"

namespace octavo {

struct TextEditorOptions {
    float width = 0;        // pixels
    float max_height = 0;   // pixels; it scrolls beyond that
    const char* hint = "";  // shown while it is empty
    // A longer paste is not put into the text but handed over as it is.
    size_t longest_paste = size_t{32} << 10;
};

struct TextEditorResult {
    bool changed = false;
    bool submitted = false;
    std::optional<std::string> long_paste;
};

class TextEditor {
  public:
    TextBuffer& buffer() { return buffer_; }
    const std::string& text() const { return buffer_.text(); }
    void focus() { wants_focus_ = true; }
    bool focused() const { return focused_; }
    // Of the text at this width, before it is drawn.
    float height(Ui& ui, const TextEditorOptions& options);

    TextEditorResult draw(Ui& ui, const char* label, const TextEditorOptions& options);

  private:
    void lay_out(Ui& ui, float width);
    void handle_mouse(Ui& ui, ImVec2 text_origin);
    void handle_keys(Ui& ui, const TextEditorOptions& options, TextEditorResult& result);
    void handle_moves(Ui& ui);
    void handle_clipboard(const TextEditorOptions& options, TextEditorResult& result);
    void move_vertically(Ui& ui, int lines, bool select);
    size_t line_of(size_t position) const;
    void scroll_to_cursor(float visible_height);

    TextBuffer buffer_;
    StyledText styled_;  // what is laid out
    TextLayout layout_;
    uint64_t laid_revision_ = static_cast<uint64_t>(-1);
    float laid_width_ = 0;
    const Fonts* laid_fonts_ = nullptr;
    float scroll_ = 0;
    float wanted_x_ = -1;  // the column that up and down keep to; below 0: the cursor's own
    size_t shown_cursor_ = 0;
    bool wants_focus_ = false;
    bool focused_ = false;
};

}  // namespace octavo
