#include "app/desktop/composer.h"

#include <algorithm>
#include <utility>

namespace octavo {

void Composer::show(Draft draft, int64_t editing) {
    text_ = std::move(draft.text);
    editing_ = editing;
    items_.clear();
    for (Attachment& attachment : draft.attachments) items_.push_back({++last_number_, std::move(attachment), -1});
    ++revision_;
    count_again();
    changed_();
}

void Composer::change_text(std::string text) {
    if (text == text_) return;
    text_ = std::move(text);
    ++text_version_;
    count_text();
    changed_();
}

void Composer::attach(Attachment attachment) {
    items_.push_back({++last_number_, std::move(attachment), -1});
    count_item(last_number_);
    changed_();
}

bool Composer::has_attachment(const std::string& name) const {
    return std::any_of(items_.begin(), items_.end(), [&](const Item& item) { return item.attachment.name == name; });
}

void Composer::detach(int index) {
    if (index < 0 || static_cast<size_t>(index) >= items_.size()) return;
    items_.erase(items_.begin() + index);
    changed_();
}

void Composer::count_again() {
    ++text_version_;
    count_text();
    for (Item& item : items_) {
        item.tokens = -1;
        count_item(item.number);
    }
}

void Composer::count_text() {
    if (text_.empty()) {
        text_tokens_ = 0;
        counted_version_ = text_version_;
        problem_.clear();
        return;
    }
    if (counting_) return;
    counting_ = true;
    counts_->count(text_, [this, version = text_version_](const Result<int64_t>& tokens) {
        counting_ = false;
        if (version == text_version_) {
            problem_ = tokens ? "" : tokens.error().message;
            text_tokens_ = tokens ? *tokens : 0;
            counted_version_ = version;
        } else {
            count_text();
        }
        changed_();
    });
}

void Composer::count_item(uint64_t number) {
    counts_->count(find(number)->attachment.text, [this, number](const Result<int64_t>& tokens) {
        Item* item = find(number);
        if (item == nullptr) return;
        item->tokens = tokens ? *tokens : 0;
        if (!tokens) problem_ = tokens.error().message;
        changed_();
    });
}

Composer::Item* Composer::find(uint64_t number) {
    const auto found =
        std::find_if(items_.begin(), items_.end(), [&](const Item& item) { return item.number == number; });
    return found != items_.end() ? &*found : nullptr;
}

Draft Composer::draft() const {
    Draft draft;
    draft.text = text_;
    for (const Item& item : items_) draft.attachments.push_back(item.attachment);
    return draft;
}

std::optional<int64_t> Composer::tokens() const {
    if (counted_version_ != text_version_) return std::nullopt;
    int64_t tokens = text_tokens_;
    for (const Item& item : items_) {
        if (item.tokens < 0) return std::nullopt;
        tokens += item.tokens;
    }
    return tokens;
}

void Composer::fill(ComposerState& state) const {
    state.draft = text_;
    state.draft_revision = revision_;
    state.editing_message = editing_;
    state.counting = !tokens();
    state.message_tokens = text_tokens_;
    state.attachments.clear();
    for (const Item& item : items_) {
        state.attachments.push_back(
            {item.attachment.name, static_cast<int64_t>(item.attachment.text.size()), item.tokens});
        state.message_tokens += std::max<int64_t>(item.tokens, 0);
    }
}

}  // namespace octavo
