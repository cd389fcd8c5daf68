// The message that is being written: its text, its documents, and what they cost in tokens.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/desktop/token_counts.h"
#include "app/store/records.h"
#include "ui/state/composer_state.h"

namespace octavo {

class Composer {
  public:
    // `changed` is called after every change, also of a count.
    Composer(TokenCounts& counts, std::function<void()> changed) : counts_(&counts), changed_(std::move(changed)) {}

    // Puts this into the window's field. `editing`: the message that it is to replace; 0: a new one.
    void show(Draft draft, int64_t editing = 0);
    void clear() { show({}); }
    // What the person has typed: the window has it already.
    void change_text(std::string text);
    void attach(Attachment attachment);
    void detach(int index);
    bool has_attachment(const std::string& name) const;
    // Under another model's tokenizer.
    void count_again();

    Draft draft() const;
    int64_t editing() const { return editing_; }
    bool empty() const { return text_.empty() && items_.empty(); }
    // Text and documents; nothing while they are being counted.
    std::optional<int64_t> tokens() const;
    // Why they cannot be counted (not UTF-8, no model); empty: they can.
    const std::string& problem() const { return problem_; }

    void fill(ComposerState& state) const;

  private:
    struct Item {
        uint64_t number = 0;
        Attachment attachment;
        int64_t tokens = -1;  // -1: not counted yet
    };
    void count_text();
    void count_item(uint64_t number);
    Item* find(uint64_t number);

    TokenCounts* counts_;
    std::function<void()> changed_;
    std::string text_;
    int64_t text_tokens_ = 0;
    std::vector<Item> items_;
    uint64_t last_number_ = 0;
    int64_t editing_ = 0;
    uint64_t revision_ = 0;
    uint64_t text_version_ = 0;     // of text_
    uint64_t counted_version_ = 0;  // that text_tokens_ is of
    bool counting_ = false;         // one text at a time: typing is faster than counting
    std::string problem_;
};

}  // namespace octavo
