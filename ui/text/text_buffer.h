// Text that is being written: cursor, selection, undo. What keys do to it, without any drawing.
//
// Positions are bytes and lie between characters as people count them: a letter with its combining marks, or an emoji
// made of several, is one step.
//
// Threads: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {

class TextBuffer {
  public:
    const std::string& text() const { return now_.text; }
    size_t cursor() const { return now_.cursor; }
    size_t selection_begin() const { return now_.cursor < now_.anchor ? now_.cursor : now_.anchor; }
    size_t selection_end() const { return now_.cursor < now_.anchor ? now_.anchor : now_.cursor; }
    bool has_selection() const { return now_.cursor != now_.anchor; }
    std::string selected() const { return now_.text.substr(selection_begin(), selection_end() - selection_begin()); }
    uint64_t revision() const { return revision_; }  // grows with every change of the text

    void set_text(std::string_view text);  // cursor at its end, nothing to undo
    void insert(std::string_view text);    // in the place of what is selected
    void erase_selection();

    enum class Step { character, word };
    void erase_left(Step step);
    void erase_right(Step step);
    void move_left(Step step, bool select);
    void move_right(Step step, bool select);
    void move_to(size_t position, bool select);
    void select_all();
    void select_word(size_t position);

    void undo();
    void redo();

  private:
    struct Snapshot {
        std::string text;
        size_t cursor = 0;
        size_t anchor = 0;
    };
    enum class Edit { none, typing, erasing, other };

    size_t left_of(size_t position, Step step) const;
    size_t right_of(size_t position, Step step) const;
    void before_edit(Edit edit);
    void replace(size_t begin, size_t end, std::string_view with);

    Snapshot now_;
    std::vector<Snapshot> undone_from_;  // oldest first
    std::vector<Snapshot> redone_from_;
    Edit last_edit_ = Edit::none;
    uint64_t revision_ = 0;
};

}  // namespace octavo
