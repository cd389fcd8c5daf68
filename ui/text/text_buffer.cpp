#include "ui/text/text_buffer.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "models/tokenizer/utf8.h"
#include "ui/text/clean_text.h"

namespace octavo {
namespace {

constexpr size_t kMostUndoBytes = size_t{8} << 20;
constexpr char32_t kJoiner = 0x200D;

bool continues_character(char c) { return (c & 0xC0) == 0x80; }
bool is_word_byte(char c) { return (c & 0x80) != 0 || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

char32_t character_at(const std::string& text, size_t position) {
    return position < text.size() ? read_utf8(std::string_view(text).substr(position, 4)).character : 0;
}

size_t next_character(const std::string& text, size_t position) {
    if (position < text.size()) ++position;
    while (position < text.size() && continues_character(text[position])) ++position;
    return position;
}

size_t previous_character(const std::string& text, size_t position) {
    if (position > 0) --position;
    while (position > 0 && continues_character(text[position])) --position;
    return position;
}

}  // namespace

void TextBuffer::set_text(std::string_view text) {
    now_.text = clean_text(text);
    now_.cursor = now_.anchor = now_.text.size();
    undone_from_.clear();
    redone_from_.clear();
    last_edit_ = Edit::none;
    ++revision_;
}

void TextBuffer::insert(std::string_view text) {
    const std::string clean = clean_text(text);
    if (clean.empty()) return;
    const bool typed = clean.size() <= 4 && clean != " " && clean != "\n";
    if (has_selection()) last_edit_ = Edit::none;  // a new stretch begins
    before_edit(typed ? Edit::typing : Edit::other);
    replace(selection_begin(), selection_end(), clean);
}

void TextBuffer::erase_selection() {
    if (!has_selection()) return;
    before_edit(Edit::other);
    replace(selection_begin(), selection_end(), "");
}

void TextBuffer::erase_left(Step step) {
    if (has_selection()) return erase_selection();
    if (now_.cursor == 0) return;
    before_edit(Edit::erasing);
    replace(left_of(now_.cursor, step), now_.cursor, "");
}

void TextBuffer::erase_right(Step step) {
    if (has_selection()) return erase_selection();
    if (now_.cursor == now_.text.size()) return;
    before_edit(Edit::erasing);
    replace(now_.cursor, right_of(now_.cursor, step), "");
}

void TextBuffer::move_left(Step step, bool select) {
    const bool to_edge = has_selection() && !select && step == Step::character;
    move_to(to_edge ? selection_begin() : left_of(now_.cursor, step), select);
}

void TextBuffer::move_right(Step step, bool select) {
    const bool to_edge = has_selection() && !select && step == Step::character;
    move_to(to_edge ? selection_end() : right_of(now_.cursor, step), select);
}

void TextBuffer::move_to(size_t position, bool select) {
    position = std::min(position, now_.text.size());
    while (position > 0 && position < now_.text.size() && continues_character(now_.text[position])) --position;
    now_.cursor = position;
    if (!select) now_.anchor = position;
    last_edit_ = Edit::none;
}

void TextBuffer::select_all() {
    now_.anchor = 0;
    now_.cursor = now_.text.size();
}

void TextBuffer::select_word(size_t position) {
    size_t begin = std::min(position, now_.text.size());
    size_t end = begin;
    while (begin > 0 && is_word_byte(now_.text[begin - 1])) --begin;
    while (end < now_.text.size() && is_word_byte(now_.text[end])) ++end;
    now_.anchor = begin;
    now_.cursor = end;
}

void TextBuffer::undo() {
    if (undone_from_.empty()) return;
    redone_from_.push_back(std::exchange(now_, std::move(undone_from_.back())));
    undone_from_.pop_back();
    last_edit_ = Edit::none;
    ++revision_;
}

void TextBuffer::redo() {
    if (redone_from_.empty()) return;
    undone_from_.push_back(std::exchange(now_, std::move(redone_from_.back())));
    redone_from_.pop_back();
    last_edit_ = Edit::none;
    ++revision_;
}

size_t TextBuffer::left_of(size_t position, Step step) const {
    const std::string& text = now_.text;
    if (step == Step::word) {
        while (position > 0 && !is_word_byte(text[position - 1])) --position;
        while (position > 0 && is_word_byte(text[position - 1])) --position;
        return position;
    }
    position = previous_character(text, position);
    // Marks belong to the letter before them, and what a joiner joined is one.
    while (position > 0) {
        const size_t before = previous_character(text, position);
        if (!is_combining(character_at(text, position)) && character_at(text, before) != kJoiner) break;
        position = before;
    }
    return position;
}

size_t TextBuffer::right_of(size_t position, Step step) const {
    const std::string& text = now_.text;
    if (step == Step::word) {
        while (position < text.size() && is_word_byte(text[position])) ++position;
        while (position < text.size() && !is_word_byte(text[position])) ++position;
        return position;
    }
    bool joined = false;
    do {
        joined = character_at(text, position) == kJoiner;
        position = next_character(text, position);
    } while (position < text.size() && (joined || is_combining(character_at(text, position))));
    return position;
}

// One step of undo takes back a stretch of typing, or of erasing.
void TextBuffer::before_edit(Edit edit) {
    redone_from_.clear();
    const bool same_stretch = edit == last_edit_ && edit != Edit::other;
    last_edit_ = edit;
    if (same_stretch) return;
    undone_from_.push_back(now_);
    size_t bytes = 0;
    for (auto it = undone_from_.rbegin(); it != undone_from_.rend(); ++it) {
        bytes += it->text.size();
        if (bytes > kMostUndoBytes) {
            undone_from_.erase(undone_from_.begin(), it.base());
            break;
        }
    }
}

void TextBuffer::replace(size_t begin, size_t end, std::string_view with) {
    now_.text.replace(begin, end - begin, with);
    now_.cursor = now_.anchor = begin + with.size();
    ++revision_;
}

}  // namespace octavo
