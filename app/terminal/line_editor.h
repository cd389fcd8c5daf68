// The text that a person types at a terminal, as a state machine: bytes from the keyboard in, edited text and what to
// draw out. Bracketed paste keeps line breaks; so does Alt+Enter. The text is drawn in one row that scrolls sideways,
// line breaks as a sign, so a paste of any size costs one row to draw.
//
// Keys: arrows, Home, End, Delete, Backspace, Ctrl-A/E/B/F/K/U/W/L, up and down (or Ctrl-P/N) for history, Enter,
// Ctrl-C, Ctrl-D.
//
// Threads: one. Non-goals: completion, searching history, reading the keyboard (see terminal_platform.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {

class LineEditor {
  public:
    enum class Event {
        none,          // wait for more bytes
        line,          // Enter: text() is complete
        interrupt,     // Ctrl-C
        end_of_input,  // Ctrl-D on an empty line
        clear_screen,  // Ctrl-L
    };

    // Starts a new text, with `initial` already in it. What was typed ahead stays.
    void begin(std::string initial);
    // Works through bytes up to the next event; what comes after it is kept: call again with "" until `none`.
    Event feed(std::string_view bytes);
    // Bytes for the next text, kept until then.
    void type_ahead(std::string_view bytes) { pending_ += bytes; }
    // Whether Ctrl-C is among what was typed ahead; that and what was typed before it goes.
    bool take_interrupt();

    const std::string& text() const { return text_; }
    // The text begins with pasted lines, more than one in all: a document, not something typed.
    bool is_pasted_block() const { return pasted_start_ && text_.find('\n') != std::string::npos; }
    size_t cursor() const { return cursor_; }  // byte offset
    void add_to_history(std::string text);

    // Bytes that draw the row, with the prompt before it and the cursor in place.
    std::string draw(std::string_view prompt, int columns) const;

  private:
    struct Binding;
    static const Binding* find_binding(std::string_view sequence);

    std::optional<std::string> take_key();  // a character, a control byte or an escape sequence
    bool take_pasted();
    Event press(std::string_view key);
    void insert(std::string_view text);
    void erase(size_t first, size_t last);
    size_t left() const;
    size_t right() const;
    void move_left() { cursor_ = left(); }
    void move_right() { cursor_ = right(); }
    void move_home() { cursor_ = 0; }
    void move_end() { cursor_ = text_.size(); }
    void backspace() { erase(left(), cursor_); }
    void erase_next() { erase(cursor_, right()); }
    void erase_to_end() { erase(cursor_, text_.size()); }
    void erase_to_start() { erase(0, cursor_); }
    void erase_word();
    void insert_line_break() { insert("\n"); }
    void older() { show_history(-1); }
    void newer() { show_history(1); }
    void show_history(int step);

    std::string pending_;  // bytes not worked through yet
    bool pasting_ = false;
    bool pasted_start_ = false;  // the first character was pasted
    std::string text_;
    size_t cursor_ = 0;
    std::vector<std::string> history_;  // oldest first
    size_t history_index_ = 0;          // history_.size(): the new text
    std::string unfinished_;            // the new text while an older one is shown
};

}  // namespace octavo
