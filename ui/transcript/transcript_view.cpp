#include "ui/transcript/transcript_view.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "ui/transcript/message_parts.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kColumnWidth = 740;
constexpr float kSideMargin = 24;
constexpr float kMessageGap = 14;
constexpr float kEndMargin = 18;
constexpr float kWheelStep = 64;
constexpr float kScrollbarWidth = 10;
// What laying out messages that are out of sight may take of a frame.
constexpr auto kLayoutBudget = std::chrono::microseconds(1500);

}  // namespace

void TranscriptView::draw(Ui& ui, const TranscriptState& state, const EngineState& engine, Actions& actions) {
    origin_ = ImGui::GetCursorScreenPos();
    size_ = ImGui::GetContentRegionAvail();
    column_width_ = std::max(std::min(ui.px(kColumnWidth), size_.x - 2 * ui.px(kSideMargin)), ui.px(80));
    column_x_ = std::floor((size_.x - column_width_) / 2);
    if (size_.y < 1 || size_.x < 1) return;

    follow_state(ui, state);
    ImGui::SetNextItemAllowOverlap();
    ImGui::InvisibleButton("##transcript", size_);
    handle_scrolling(ui);
    lay_out(ui);
    handle_mouse(ui, actions);

    ImGui::PushClipRect(origin_, {origin_.x + size_.x, origin_.y + size_.y}, true);
    const bool hovered = ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenOverlappedByItem);
    for (size_t i = message_near(scroll_); i < messages_.size() && tops_[i] < scroll_ + size_.y; ++i) {
        const ImVec2 at(origin_.x + column_x_, std::floor(origin_.y + tops_[i] - scroll_));
        const float mouse = ImGui::GetIO().MousePos.y;
        const MessageDrawing drawing{
            .origin = at,
            .top = origin_.y,
            .bottom = origin_.y + size_.y,
            .index = i,
            .newest = i + 1 == messages_.size(),
            .under_mouse = hovered && !selecting_ && mouse >= at.y && mouse < at.y + messages_[i]->height()};
        draw_message(ui, *messages_[i], drawing, selection_, engine, actions);
    }
    ImGui::PopClipRect();
    draw_scrollbar(ui);
    ImGui::SetCursorScreenPos({origin_.x, origin_.y + size_.y});
    ImGui::Dummy({0, 0});
}

// The messages of the state, with the layouts of those that were there before.
void TranscriptView::follow_state(Ui& ui, const TranscriptState& state) {
    if (state.conversation != conversation_) {
        conversation_ = state.conversation;
        messages_.clear();
        selection_ = {};
        follows_ = true;
    }
    const bool same_list =
        messages_.size() == state.messages.size() &&
        std::equal(messages_.begin(), messages_.end(), state.messages.begin(),
                   [](const auto& mine, const auto& theirs) { return mine->message().id == theirs->id; });
    if (!same_list) {
        std::unordered_map<int64_t, std::unique_ptr<MessageLayout>> old;
        const bool grew = state.messages.size() > messages_.size();
        for (auto& message : messages_) old.emplace(message->message().id, std::move(message));
        messages_.clear();
        for (const auto& message : state.messages) {
            auto found = old.find(message->id);
            messages_.push_back(found != old.end() && found->second ? std::move(found->second)
                                                                    : std::make_unique<MessageLayout>());
        }
        if (!grew) selection_ = {};
    }
    // Another scale means other fonts; the same scale with more glyphs matters to texts that lacked some.
    const Fonts* fonts = &ui.loader.fonts();
    const bool rescaled = fonts->scale != scale_;
    for (size_t i = 0; i < messages_.size(); ++i) {
        messages_[i]->set_message(state.messages[i]);
        if (rescaled || (fonts != fonts_ && messages_[i]->lacks_glyphs())) messages_[i]->invalidate();
    }
    fonts_ = fonts;
    scale_ = fonts->scale;
}

void TranscriptView::lay_out(Ui& ui) {
    for (auto& message : messages_)
        if (message->height() == 0) message->guess_height(ui, column_width_);
    place_messages();

    // What is on the screen stays where it is: the message at its upper edge, and how far it is scrolled past.
    const size_t anchor = message_near(scroll_);
    const float past = anchor < messages_.size() ? scroll_ - tops_[anchor] : 0;
    const auto lay_out_visible = [&] {
        for (size_t i = message_near(scroll_ - size_.y / 2);
             i < messages_.size() && tops_[i] < scroll_ + size_.y * 1.5f; ++i) {
            const bool changes = !messages_[i]->laid_out(column_width_);
            messages_[i]->lay_out(ui, column_width_);
            if (changes) place_messages();
        }
    };
    const auto settle = [&] {
        const float end = std::max(tops_.back() - size_.y, 0.0f);
        if (follows_)
            scroll_ = end;
        else if (anchor < messages_.size())
            scroll_ = std::min(tops_[anchor] + past, end);
    };
    settle();
    lay_out_visible();
    settle();
    lay_out_visible();  // of what came into sight when guesses were put right
    settle();

    const auto deadline = Clock::now() + kLayoutBudget;
    bool all = true;
    for (size_t i = messages_.size(); i-- > 0;) {
        if (messages_[i]->laid_out(column_width_)) continue;
        if (Clock::now() >= deadline) {
            all = false;
            break;
        }
        messages_[i]->lay_out(ui, column_width_);
    }
    place_messages();
    settle();
    if (!all) ui.draw_again_in(0);
}

void TranscriptView::place_messages() {
    const float gap = std::round(scale_ * kMessageGap);
    tops_.resize(messages_.size() + 1);
    float y = std::round(scale_ * kEndMargin);
    for (size_t i = 0; i < messages_.size(); ++i) {
        tops_[i] = y;
        y = std::round(y + messages_[i]->height() + gap);
    }
    tops_.back() = y;
}

// The message at a height, or the one below the gap there.
size_t TranscriptView::message_near(float y) const {
    size_t low = 0;
    size_t high = messages_.size();
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (tops_[middle] + messages_[middle]->height() <= y)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void TranscriptView::handle_scrolling(Ui& ui) {
    const float end = tops_.empty() ? 0 : std::max(tops_.back() - size_.y, 0.0f);
    const ImGuiIO& io = ImGui::GetIO();
    float wanted = scroll_;
    if (ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
        wanted -= io.MouseWheel * ui.px(kWheelStep);
    if (ImGui::IsKeyPressed(ImGuiKey_PageUp)) wanted -= size_.y * 0.9f;
    if (ImGui::IsKeyPressed(ImGuiKey_PageDown)) wanted += size_.y * 0.9f;
    if (!io.WantTextInput) {  // else they are the field's
        if (ImGui::IsKeyPressed(ImGuiKey_Home)) wanted = 0;
        if (ImGui::IsKeyPressed(ImGuiKey_End)) wanted = end;
    }
    // A selection drawn past an edge takes the text along.
    if (selecting_) {
        const float above = origin_.y - io.MousePos.y;
        const float below = io.MousePos.y - (origin_.y + size_.y);
        if (above > 0 || below > 0) {
            wanted += above > 0 ? -std::min(above, ui.px(40)) : std::min(below, ui.px(40));
            ui.draw_again_in(1.0 / 60);
        }
    }
    if (wanted == scroll_) return;
    scroll_ = std::clamp(wanted, 0.0f, end);
    follows_ = scroll_ >= end - 1;
}

void TranscriptView::handle_mouse(Ui& ui, Actions& actions) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const bool hovered = ImGui::IsItemHovered();
    if (ImGui::IsItemActivated()) {
        selecting_ = true;
        select_at(ui, mouse, ImGui::GetMouseClickedCount(ImGuiMouseButton_Left));
    }
    const std::optional<TextPlace> place = hovered || selecting_ ? place_at(ui, mouse) : std::nullopt;
    const std::string* link = nullptr;
    if (place) {
        const BlockColumn& text = column(place->message, place->section);
        const ImVec2 corner = column_origin(place->message, place->section);
        const ImVec2 inside(mouse.x - corner.x, mouse.y - corner.y);
        link = text.link_at(inside);
        if (hovered && link != nullptr) {
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
            tooltip(ui, *link);
        } else if (hovered && text.over_text(inside)) {
            ImGui::SetMouseCursor(ImGuiMouseCursor_TextInput);
        }
    }
    if (selecting_ && ImGui::IsItemActive()) {
        if (place && ImGui::IsMouseDragging(ImGuiMouseButton_Left, ui.px(3))) selection_.focus = *place;
    } else if (selecting_) {
        selecting_ = false;
        if (link != nullptr && selection_.empty()) actions.push_back(action::OpenLink{*link});
    }
    if (!selection_.empty() && ImGui::GetIO().KeyCtrl && ImGui::IsKeyPressed(ImGuiKey_C, false) &&
        !ImGui::GetIO().WantTextInput)
        ImGui::SetClipboardText(selected_text().c_str());
}

void TranscriptView::select_at(Ui& ui, ImVec2 point, int clicks) {
    const std::optional<TextPlace> place = place_at(ui, point);
    selection_ = {};
    if (!place) return;
    selection_ = {*place, *place};
    if (clicks < 2) return;
    const BlockColumn& text = column(place->message, place->section);
    const ImVec2 corner = column_origin(place->message, place->section);
    const ImVec2 inside(point.x - corner.x, point.y - corner.y);
    const BlockRange range = clicks == 2 ? text.word_at(ui, inside) : text.block_at(ui, inside);
    selection_.anchor.position = range.begin;
    selection_.focus.position = range.end;
}

std::optional<TextPlace> TranscriptView::place_at(Ui& ui, ImVec2 point) const {
    if (messages_.empty()) return {};
    const float y = std::clamp(point.y, origin_.y, origin_.y + size_.y) - origin_.y + scroll_;
    const size_t index = std::min(message_near(y), messages_.size() - 1);
    const MessageLayout& message = *messages_[index];
    const float inside = y - tops_[index];
    const bool in_thinking =
        message.thinking_text.height > 0 && inside < message.thinking_text.y + message.thinking_text.height;
    const MessageSection section = in_thinking ? MessageSection::thinking : MessageSection::text;
    const ImVec2 corner = column_origin(index, section);
    return TextPlace{index, section, column(index, section).position_at(ui, {point.x - corner.x, point.y - corner.y})};
}

ImVec2 TranscriptView::column_origin(size_t message, MessageSection section) const {
    const MessageLayout& layout = *messages_[message];
    const ImVec2 at(origin_.x + column_x_, std::floor(origin_.y + tops_[message] - scroll_));
    if (section == MessageSection::thinking)
        return {at.x + layout.thinking_text.x, at.y + layout.thinking_text.y + layout.thinking_shift};
    return {at.x + layout.body.x, at.y + layout.body.y};
}

const BlockColumn& TranscriptView::column(size_t message, MessageSection section) const {
    return section == MessageSection::thinking ? messages_[message]->thinking() : messages_[message]->text();
}

std::string TranscriptView::selected_text() const {
    std::string text;
    if (selection_.empty()) return text;
    for (size_t i = selection_.begin().message; i <= selection_.end().message && i < messages_.size(); ++i)
        for (const MessageSection section : {MessageSection::thinking, MessageSection::text}) {
            if (section == MessageSection::thinking && !messages_[i]->thinking_open()) continue;
            const BlockColumn& from = column(i, section);
            const auto part = selection_.part(i, section, from.all());
            if (!part || from.empty()) continue;
            if (!text.empty()) text += "\n\n";
            text += from.text_between(*part);
        }
    return text;
}

void TranscriptView::draw_scrollbar(Ui& ui) {
    const float content = tops_.back();
    if (content <= size_.y) return;
    const float width = ui.px(kScrollbarWidth);
    const float grip = std::max(size_.y * size_.y / content, ui.px(28));
    const float travel = size_.y - grip;
    const float end = content - size_.y;
    const ImVec2 at(origin_.x + size_.x - width, origin_.y + travel * scroll_ / end);
    ImGui::SetCursorScreenPos({origin_.x + size_.x - width, origin_.y});
    ImGui::InvisibleButton("##transcript-scrollbar", {width, size_.y});
    if (ImGui::IsItemActive()) {
        const float middle = ImGui::GetIO().MousePos.y - origin_.y - grip / 2;
        scroll_ = std::clamp(middle / travel, 0.0f, 1.0f) * end;
        follows_ = scroll_ >= end - 1;
    }
    const bool strong = ImGui::IsItemHovered() || ImGui::IsItemActive();
    const float inset = ui.px(2);
    ImGui::GetWindowDrawList()->AddRectFilled({at.x + inset, at.y + inset}, {at.x + width - inset, at.y + grip - inset},
                                              strong ? mix(ui.theme.selected, ui.theme.muted, 0.4f) : ui.theme.selected,
                                              width);
}

}  // namespace octavo
