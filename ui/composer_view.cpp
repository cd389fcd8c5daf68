#include "ui/composer_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr float kPadding = 14;
constexpr float kFootHeight = 40;
constexpr float kChipHeight = 32;
constexpr float kMostLines = 9;
constexpr float kEditHead = 30;
constexpr float kReasonHeight = 24;

const std::string& reason_of(const ComposerState& state) { return state.blocked_reason; }

}  // namespace

TextEditorOptions ComposerView::editor_options(Ui& ui, float width) const {
    TextEditorOptions options;
    options.width = width - 2 * ui.px(kPadding);
    // In a low window the field must leave room for what it answers.
    const float room = std::max(ImGui::GetMainViewport()->Size.y * 0.4f - ui.px(kFootHeight), ui.px(26));
    options.max_height = std::min(std::round(ui.px(23.4f) * kMostLines), room);
    options.hint = "Write a message";
    return options;
}

float ComposerView::height(Ui& ui, const ComposerState& state, float width) {
    follow_state(state);
    return ui.px(kPadding) + editor_.height(ui, editor_options(ui, width)) + ui.px(kFootHeight) +
           (state.editing_message != 0 ? ui.px(kEditHead) : 0) + (reason_of(state).empty() ? 0 : ui.px(kReasonHeight)) +
           ui.px(kChipHeight) * static_cast<float>(state.attachments.size());
}

// The draft of the state replaces what is in the field only when it is another one.
void ComposerView::follow_state(const ComposerState& state) {
    if (state.draft_revision == draft_revision_) return;
    draft_revision_ = state.draft_revision;
    editor_.buffer().set_text(state.draft);
    editor_.focus();
}

void ComposerView::draw(Ui& ui, const ComposerState& state, const EngineState& engine, float width, Actions& actions) {
    follow_state(state);
    const float whole = height(ui, state, width);
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const ImVec2 end(origin.x + width, origin.y + whole);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(origin, end, ui.theme.raised, ui.px(14));
    list.AddRect(origin, end, editor_.focused() ? mix(ui.theme.border, ui.theme.accent, 0.55f) : ui.theme.border,
                 ui.px(14));
    ImVec2 pen(origin.x + ui.px(kPadding), origin.y);
    if (state.editing_message != 0) {
        draw_icon(list, Icon::edit, {pen.x, pen.y + ui.px(9)}, ui.px(16), ui.theme.accent);
        ImGui::SetCursorScreenPos({pen.x + ui.px(22), pen.y + ui.px(9)});
        text_line(ui, Face::small, ui.theme.accent, "Editing an earlier message; sending starts a new branch");
        ImGui::SetCursorScreenPos({end.x - ui.px(34), pen.y + ui.px(5)});
        if (button(ui, "##cancel-edit",
                   {.kind = ButtonKind::quiet,
                    .icon = Icon::close,
                    .tooltip = "Leave it as it was (Esc)",
                    .small = true,
                    .muted = true}))
            actions.push_back(action::CancelEdit{});
        pen.y += ui.px(kEditHead);
    }
    ImGui::SetCursorScreenPos({pen.x, pen.y + ui.px(6)});
    draw_attachments(ui, state, width - 2 * ui.px(kPadding), actions);
    pen.y += ui.px(kChipHeight) * static_cast<float>(state.attachments.size());
    if (!reason_of(state).empty()) {
        ImGui::SetCursorScreenPos({pen.x, pen.y + ui.px(8)});
        text_line(ui, Face::small, ui.theme.warning, reason_of(state), width - 2 * ui.px(kPadding));
        tooltip(ui, reason_of(state));
        pen.y += ui.px(kReasonHeight);
    }

    const TextEditorOptions options = editor_options(ui, width);
    ImGui::SetCursorScreenPos({pen.x, pen.y + ui.px(kPadding)});
    const TextEditorResult result = editor_.draw(ui, "##message", options);
    if (result.changed) actions.push_back(action::DraftChanged{editor_.text()});
    if (result.long_paste) actions.push_back(action::AttachText{"pasted text", *result.long_paste});
    if (result.submitted && can_send(state, engine)) send(actions);
    ImGui::SetCursorScreenPos({origin.x, end.y - ui.px(kFootHeight)});
    draw_foot(ui, state, engine, width, actions);
    ImGui::SetCursorScreenPos({origin.x, end.y});
    ImGui::Dummy({width, 0});
}

// The state may not know yet of what was typed a moment ago: without a reason against it, it can be sent.
bool ComposerView::can_send(const ComposerState& state, const EngineState& engine) const {
    const bool something = !editor_.text().empty() || !state.attachments.empty();
    return something && (state.can_send || (state.blocked_reason.empty() && !engine.busy()));
}

void ComposerView::send(Actions& actions) {
    actions.push_back(action::SendMessage{editor_.text()});
    editor_.buffer().set_text("");
    editor_.focus();
}

void ComposerView::draw_attachments(Ui& ui, const ComposerState& state, float width, Actions& actions) {
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    for (size_t i = 0; i < state.attachments.size(); ++i) {
        const AttachmentState& file = state.attachments[i];
        const ImVec2 pen(origin.x, origin.y + ui.px(kChipHeight) * static_cast<float>(i));
        draw_icon(*ImGui::GetWindowDrawList(), Icon::file, {pen.x, pen.y + ui.px(5)}, ui.px(18), ui.theme.muted);
        const std::string figures = fmt::format("{} · {}", format_size(file.bytes),
                                                file.tokens < 0 ? "counting…" : format_count(file.tokens) + " tokens");
        const float figures_width = text_size(ui, Face::small, figures).x;
        ImGui::SetCursorScreenPos({pen.x + ui.px(24), pen.y + ui.px(5)});
        text_line(ui, Face::body, ui.theme.text, file.name, std::max(width - figures_width - ui.px(66), ui.px(30)));
        ImGui::SetCursorScreenPos({pen.x + width - figures_width - ui.px(32), pen.y + ui.px(7)});
        text_line(ui, Face::small, ui.theme.muted, figures);
        ImGui::SetCursorScreenPos({pen.x + width - ui.px(24), pen.y + ui.px(2)});
        const std::string label = fmt::format("##detach-{}", i);
        if (button(ui, label.c_str(),
                   {.kind = ButtonKind::quiet,
                    .icon = Icon::close,
                    .tooltip = "Take it off",
                    .small = true,
                    .muted = true}))
            actions.push_back(action::DetachFile{static_cast<int>(i)});
    }
}

// Attach, the gauge of the context, and Send or Stop.
void ComposerView::draw_foot(Ui& ui, const ComposerState& state, const EngineState& engine, float width,
                             Actions& actions) {
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos({origin.x + ui.px(8), origin.y + ui.px(4)});
    if (button(ui, "##attach",
               {.kind = ButtonKind::quiet,
                .icon = Icon::attach,
                .tooltip = "Attach a text file, whole (Ctrl+O); or drop it on the window",
                .muted = true}))
        actions.push_back(action::AttachFile{});

    const float button_width = ui.px(36);
    const ImVec2 main(origin.x + width - button_width - ui.px(6), origin.y + ui.px(4));
    ImGui::SetCursorScreenPos(main);
    const bool stoppable = engine.phase == EnginePhase::prefilling || engine.phase == EnginePhase::decoding;
    if (stoppable) {
        if (button(ui, "##stop",
                   {.icon = Icon::stop, .width = button_width, .tooltip = "Stop (Esc)", .enabled = !engine.stopping}))
            actions.push_back(action::Stop{});
    } else if (button(ui, "##send",
                      {.kind = ButtonKind::primary,
                       .icon = Icon::send,
                       .width = button_width,
                       .tooltip = "Send (Enter)",
                       .enabled = can_send(state, engine)})) {
        send(actions);
    }

    if (state.context_tokens <= 0) return;
    // What the conversation holds, what this message adds, what is kept for the reply, of the whole context.
    const float gauge_width = std::min(ui.px(120), width * 0.25f);
    const ImVec2 gauge(main.x - ui.px(14) - gauge_width, origin.y + ui.px(17));
    const float thick = ui.px(5);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto share = [&](int64_t tokens) {
        return gauge_width * std::min(static_cast<float>(tokens) / static_cast<float>(state.context_tokens), 1.0f);
    };
    const int64_t with_message = state.held_tokens + state.message_tokens;
    const int64_t with_reply = with_message + state.reserve_tokens;
    const bool over = with_reply > state.context_tokens;
    list.AddRectFilled(gauge, {gauge.x + gauge_width, gauge.y + thick}, ui.theme.selected, thick);
    const auto fill = [&](int64_t tokens, ImU32 colour) {
        if (tokens > 0)
            list.AddRectFilled(gauge, {gauge.x + std::max(share(tokens), thick), gauge.y + thick}, colour, thick);
    };
    fill(with_reply, with_alpha(over ? ui.theme.error : ui.theme.accent, 0.35f));
    fill(with_message, over ? ui.theme.error : ui.theme.accent);
    fill(state.held_tokens, mix(ui.theme.muted, over ? ui.theme.error : ui.theme.accent, 0.35f));
    ImGui::SetCursorScreenPos({gauge.x, gauge.y - ui.px(8)});
    ImGui::Dummy({gauge_width, ui.px(20)});
    tooltip(ui, fmt::format("{} tokens of the conversation\n{} of this message\n{} kept for the reply\n{} of {} in all",
                            format_count(state.held_tokens), format_count(state.message_tokens),
                            format_count(state.reserve_tokens), format_count(with_reply),
                            format_count(state.context_tokens)));

    const std::string words = gauge_text(state);
    const float words_width = text_size(ui, Face::small, words).x;
    const float room = gauge.x - origin.x - ui.px(56);
    if (room < ui.px(60)) return;
    ImGui::SetCursorScreenPos({gauge.x - ui.px(10) - std::min(words_width, room), origin.y + ui.px(11)});
    text_line(ui, Face::small, over ? ui.theme.error : ui.theme.muted, words, room);
}

std::string gauge_text(const ComposerState& state) {
    const int64_t used = state.held_tokens + state.message_tokens;
    const std::string context = format_tokens(state.context_tokens);
    if (state.counting) return fmt::format("counting… of {}", context);
    if (state.message_tokens == 0) return fmt::format("{} of {}", format_count(used), context);
    return fmt::format("{} + {} of {}", format_count(state.held_tokens), format_count(state.message_tokens), context);
}

}  // namespace octavo
