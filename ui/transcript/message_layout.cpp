#include "ui/transcript/message_layout.h"

#include <algorithm>
#include <cmath>

#include "ui/text/clean_text.h"

namespace octavo {
namespace {

constexpr float kCardPaddingX = 14;
constexpr float kCardPaddingY = 10;
constexpr float kCardShare = 0.86f;  // of the column, at most
constexpr float kChipHeight = 30;
constexpr float kHeadHeight = 28;
constexpr float kThinkingIndent = 16;
constexpr float kThinkingWindow = 190;  // shown of thinking that still grows
constexpr float kProgressHeight = 44;
constexpr float kNoteIndent = 26;    // beside its icon
constexpr float kNoteButtons = 104;  // beside it
constexpr float kFootHeight = 32;
constexpr float kUserFootHeight = 22;
constexpr float kGuessedCharacters = 95;  // in a line

}  // namespace

void MessageLayout::set_message(const std::shared_ptr<const MessageView>& message) {
    if (message == message_ || (message_ && message->id == message_->id && message->revision == message_->revision &&
                                message->phase == message_->phase && message->text.size() == message_->text.size())) {
        message_ = message;
        return;
    }
    message_ = message;
    stale_ = true;
}

void MessageLayout::invalidate() {
    text_.invalidate();
    thinking_.invalidate();
    stale_ = true;
}

void MessageLayout::set_thinking_open(bool open) {
    thinking_open_ = open;
    stale_ = true;
}

void MessageLayout::guess_height(Ui& ui, float width) {
    const float line = ui.px(23);
    const float characters = std::max(kGuessedCharacters * width / ui.px(720), 10.0f);
    height_ = ui.px(60) + line * std::ceil(static_cast<float>(message_->text.size()) / characters);
}

void MessageLayout::lay_out(Ui& ui, float width) {
    if (laid_out(width)) return;
    const MessageView& message = *message_;
    const bool user = message.role == Role::user;
    text_.set_text(message.text, user ? TextKind::plain : TextKind::markdown, message.phase == MessagePhase::writing);
    thinking_.set_text(message.thinking, TextKind::small, message.phase == MessagePhase::thinking);
    card = attachments = thinking_head = thinking_text = body = progress = note = foot = {};
    width_ = width;
    stale_ = false;

    float y = 0;
    if (user) {
        const float padding = ui.px(kCardPaddingX);
        const float widest = std::floor(width * kCardShare) - 2 * padding;
        text_.lay_out(ui, widest);
        const float chips = message.attachments.empty() ? 0 : std::min(ui.px(260), widest);
        const float inner = std::min(std::max({std::ceil(text_.widest()) + 1, chips, ui.px(24)}), widest);
        card = {width - inner - 2 * padding, 0, inner + 2 * padding, 0};
        y += ui.px(kCardPaddingY);
        if (!message.attachments.empty()) {
            attachments = {card.x + padding, y, inner,
                           ui.px(kChipHeight) * static_cast<float>(message.attachments.size())};
            y += attachments.height + (text_.height() > 0 ? ui.px(8) : 0);
        }
        body = {card.x + padding, y, inner, text_.height()};
        y += body.height + ui.px(kCardPaddingY);
        card.height = y;
    } else {
        if (!message.thinking.empty() || message.phase == MessagePhase::thinking) {
            thinking_head = {0, y, width, ui.px(kHeadHeight)};
            y += thinking_head.height;
            if (thinking_open_) {
                thinking_.lay_out(ui, width - ui.px(kThinkingIndent));
                const float whole = thinking_.height();
                const float shown =
                    message.phase == MessagePhase::thinking ? std::min(whole, ui.px(kThinkingWindow)) : whole;
                thinking_text = {ui.px(kThinkingIndent), y + ui.px(2), width - ui.px(kThinkingIndent), shown};
                thinking_shift = shown - whole;
                y += shown + ui.px(12);
            } else {
                y += ui.px(4);
            }
        }
        text_.lay_out(ui, width);
        body = {0, y, width, text_.height()};
        y += body.height;
        if (message.phase == MessagePhase::queued || message.phase == MessagePhase::prefilling) {
            progress = {0, y, width, ui.px(kProgressHeight)};
            y += progress.height;
        }
    }
    if (!message.note.empty()) {
        note_text = {};
        note_text.append(clean_text(message.note), style_plain);
        const float buttons = message.phase == MessagePhase::stopped ? ui.px(kNoteButtons) : 0;
        const float room = std::max(width - ui.px(kNoteIndent) - buttons, ui.px(40));
        note_layout = lay_out_text(ui, note_text, {.width = room, .spacing = 1.22f});
        note = {0, y + ui.px(8), width, std::max(note_layout.height, ui.px(24))};
        y += note.height + ui.px(8);
    }
    foot = {0, y + ui.px(4), width, ui.px(user ? kUserFootHeight : kFootHeight)};
    height_ = foot.y + foot.height;
}

}  // namespace octavo
