#include "app/terminal/line_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/terminal/text_width.h"

namespace octavo {
namespace {

constexpr std::string_view kPasteStart = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr char kEscape = '\x1b';

// Length of the escape sequence at the start of `bytes`; 0: not complete yet.
size_t escape_bytes(std::string_view bytes) {
    if (bytes.size() < 2) return 0;
    if (bytes[1] == 'O') return bytes.size() < 3 ? 0 : 3;
    if (bytes[1] != '[') return 2;
    for (size_t i = 2; i < bytes.size(); ++i)
        if (bytes[i] >= 0x40 && bytes[i] <= 0x7e) return i + 1;
    return 0;
}

size_t utf8_bytes(unsigned char lead) { return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1; }

// How a character is drawn in the one row.
std::string_view drawn(std::string_view text, size_t position, const TextCharacter& character) {
    if (character.code == '\n') return "\u23ce";
    if (character.code == '\t') return " ";
    if (character.code < 0x20 || character.code == 0x7f || character.code == 0xfffd) return "?";
    return text.substr(position, character.bytes);
}

}  // namespace

struct LineEditor::Binding {
    std::string_view sequence;
    void (LineEditor::*action)();
};

const LineEditor::Binding* LineEditor::find_binding(std::string_view sequence) {
    static constexpr Binding kBindings[] = {
        {"\x1b[D", &LineEditor::move_left},   {"\x1bOD", &LineEditor::move_left},
        {"\x02", &LineEditor::move_left},     {"\x1b[C", &LineEditor::move_right},
        {"\x1bOC", &LineEditor::move_right},  {"\x06", &LineEditor::move_right},
        {"\x1b[H", &LineEditor::move_home},   {"\x1bOH", &LineEditor::move_home},
        {"\x1b[1~", &LineEditor::move_home},  {"\x01", &LineEditor::move_home},
        {"\x1b[F", &LineEditor::move_end},    {"\x1bOF", &LineEditor::move_end},
        {"\x1b[4~", &LineEditor::move_end},   {"\x05", &LineEditor::move_end},
        {"\x7f", &LineEditor::backspace},     {"\x08", &LineEditor::backspace},
        {"\x1b[3~", &LineEditor::erase_next}, {"\x04", &LineEditor::erase_next},
        {"\x0b", &LineEditor::erase_to_end},  {"\x15", &LineEditor::erase_to_start},
        {"\x17", &LineEditor::erase_word},    {"\x1b\r", &LineEditor::insert_line_break},
        {"\x1b[A", &LineEditor::older},       {"\x1bOA", &LineEditor::older},
        {"\x10", &LineEditor::older},         {"\x1b[B", &LineEditor::newer},
        {"\x1bOB", &LineEditor::newer},       {"\x0e", &LineEditor::newer},
    };
    const auto found = std::find_if(std::begin(kBindings), std::end(kBindings),
                                    [sequence](const Binding& binding) { return binding.sequence == sequence; });
    return found == std::end(kBindings) ? nullptr : found;
}

void LineEditor::begin(std::string initial) {
    text_ = std::move(initial);
    cursor_ = text_.size();
    pasted_start_ = false;
    history_index_ = history_.size();
    unfinished_.clear();
}

LineEditor::Event LineEditor::feed(std::string_view bytes) {
    pending_ += bytes;
    while (true) {
        if (pasting_) {
            if (!take_pasted()) return Event::none;
            continue;
        }
        const std::optional<std::string> key = take_key();
        if (!key) return Event::none;
        if (*key == kPasteStart) {
            pasting_ = true;
            continue;
        }
        const Event event = press(*key);
        if (event != Event::none) return event;
    }
}

bool LineEditor::take_interrupt() {
    const size_t at = pending_.find('\x03');
    if (at == std::string::npos || pending_.find(kPasteStart) < at) return false;
    pending_.erase(0, at + 1);
    return true;
}

std::optional<std::string> LineEditor::take_key() {
    if (pending_.empty()) return std::nullopt;
    const size_t length =
        pending_[0] == kEscape ? escape_bytes(pending_) : utf8_bytes(static_cast<unsigned char>(pending_[0]));
    if (length == 0 || length > pending_.size()) return std::nullopt;
    std::string key = pending_.substr(0, length);
    pending_.erase(0, length);
    return key;
}

// Moves pasted text into the line; true when the paste is over. The end mark may be cut by the end of a read.
bool LineEditor::take_pasted() {
    const size_t end = pending_.find(kPasteEnd);
    const bool complete = end != std::string::npos;
    size_t length = complete ? end : pending_.size();
    if (!complete) {
        const size_t escape = pending_.rfind(kEscape);
        if (escape != std::string::npos && kPasteEnd.starts_with(std::string_view(pending_).substr(escape)))
            length = escape;
        if (length > 0 && pending_[length - 1] == '\r') --length;  // its line feed may follow
    }
    std::string pasted;
    for (size_t i = 0; i < length; ++i) {
        if (pending_[i] == '\r')
            pasted += '\n';
        else if (pending_[i] != '\n' || i == 0 || pending_[i - 1] != '\r')
            pasted += pending_[i];
    }
    insert(pasted);
    pending_.erase(0, complete ? length + kPasteEnd.size() : length);
    pasting_ = !complete;
    return complete;
}

LineEditor::Event LineEditor::press(std::string_view key) {
    if (key == "\r" || key == "\n") return Event::line;
    if (key == "\x03") return Event::interrupt;
    if (key == "\x0c") return Event::clear_screen;
    if (key == "\x04" && text_.empty()) return Event::end_of_input;
    if (const Binding* binding = find_binding(key))
        (this->*binding->action)();
    else if (key == "\t" || (static_cast<unsigned char>(key[0]) >= 0x20 && key[0] != 0x7f))
        insert(key);
    return Event::none;
}

void LineEditor::insert(std::string_view text) {
    if (cursor_ == 0 && !text.empty()) pasted_start_ = pasting_;
    const std::string behind = text_.substr(cursor_);
    text_.resize(cursor_);
    text_ += text;
    cursor_ = text_.size();
    text_ += behind;
}

void LineEditor::erase(size_t first, size_t last) {
    text_.erase(first, last - first);
    cursor_ = first;
}

// A step skips marks that stand on the character before them.
size_t LineEditor::left() const {
    size_t at = cursor_;
    while (at > 0) {
        at = previous_character(text_, at);
        if (character_at(text_, at).columns > 0) break;
    }
    return at;
}

size_t LineEditor::right() const {
    size_t at = cursor_;
    if (at < text_.size()) at += character_at(text_, at).bytes;
    while (at < text_.size() && character_at(text_, at).columns == 0) at += character_at(text_, at).bytes;
    return at;
}

void LineEditor::erase_word() {
    const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
    size_t start = cursor_;
    while (start > 0 && is_space(text_[start - 1])) --start;
    while (start > 0 && !is_space(text_[start - 1])) --start;
    erase(start, cursor_);
}

void LineEditor::add_to_history(std::string text) {
    if (text.empty() || (!history_.empty() && history_.back() == text)) return;
    history_.push_back(std::move(text));
}

void LineEditor::show_history(int step) {
    if (step < 0 ? history_index_ == 0 : history_index_ == history_.size()) return;
    if (history_index_ == history_.size()) unfinished_ = text_;
    history_index_ = step < 0 ? history_index_ - 1 : history_index_ + 1;
    text_ = history_index_ == history_.size() ? unfinished_ : history_[history_index_];
    pasted_start_ = false;
    cursor_ = text_.size();
}

std::string LineEditor::draw(std::string_view prompt, int columns) const {
    const int prompt_columns = text_columns(prompt);
    const int room = std::max(columns - prompt_columns - 1, 8);

    // Show what precedes the cursor, up to two thirds of the row (all of it where the text ends soon after).
    size_t start = cursor_;
    int before = 0;
    const int most_before = text_.size() - cursor_ < static_cast<size_t>(room) / 3 ? room - 1 : room * 2 / 3;
    while (start > 0) {
        const size_t previous = previous_character(text_, start);
        const int width = character_at(text_, previous).columns;
        if (before + width > most_before) break;
        before += width;
        start = previous;
    }
    std::string row;
    int used = 0;
    for (size_t at = start; at < text_.size();) {
        const TextCharacter character = character_at(text_, at);
        if (used + character.columns > room) break;
        row += drawn(text_, at, character);
        used += character.columns;
        at += character.bytes;
    }
    return fmt::format("\r{}{}\x1b[K\r\x1b[{}C", prompt, row, prompt_columns + before);
}

}  // namespace octavo
