#include "ui/transcript/message_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/number_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

ImVec2 at(const MessageDrawing& drawing, const MessageLayout::Part& part) {
    return {drawing.origin.x + part.x, drawing.origin.y + part.y};
}

ImVec2 end(const MessageDrawing& drawing, const MessageLayout::Part& part) {
    return {drawing.origin.x + part.x + part.width, drawing.origin.y + part.y + part.height};
}

bool visible(const MessageDrawing& drawing, const MessageLayout::Part& part) {
    return part.height > 0 && at(drawing, part).y < drawing.bottom && end(drawing, part).y > drawing.top;
}

void draw_attachments(Ui& ui, const MessageLayout& layout, const MessageDrawing& drawing) {
    if (!visible(drawing, layout.attachments)) return;
    ImVec2 pen = at(drawing, layout.attachments);
    const auto count = static_cast<float>(layout.message().attachments.size());
    for (const AttachmentState& file : layout.message().attachments) {
        ImGui::SetCursorScreenPos({pen.x, pen.y + ui.px(5)});
        draw_icon(*ImGui::GetWindowDrawList(), Icon::file, {pen.x, pen.y + ui.px(6)}, ui.px(17), ui.theme.muted);
        const std::string size = file.tokens < 0 ? format_size(file.bytes) : format_count(file.tokens) + " tokens";
        const float size_width = text_size(ui, Face::small, size).x;
        ImGui::SetCursorScreenPos({pen.x + ui.px(24), pen.y + ui.px(5)});
        text_line(ui, Face::strong, ui.theme.text, file.name,
                  std::max(layout.attachments.width - size_width - ui.px(34), ui.px(30)));
        ImGui::SetCursorScreenPos({pen.x + layout.attachments.width - size_width, pen.y + ui.px(7)});
        text_line(ui, Face::small, ui.theme.muted, size);
        pen.y += layout.attachments.height / count;
    }
}

void draw_thinking(Ui& ui, MessageLayout& layout, const MessageDrawing& drawing, const TextSelection& selection) {
    const MessageView& message = layout.message();
    if (visible(drawing, layout.thinking_head)) {
        const bool running = message.phase == MessagePhase::thinking;
        const std::string time =
            message.thinking_seconds > 0 ? " for " + format_seconds(message.thinking_seconds) : std::string();
        const std::string label = fmt::format("{}{}##thinking-{}", running ? "Thinking" : "Thought", time, message.id);
        ImGui::SetCursorScreenPos(
            {at(drawing, layout.thinking_head).x - ui.px(8), at(drawing, layout.thinking_head).y});
        if (button(ui, label.c_str(),
                   {.kind = ButtonKind::quiet,
                    .icon = layout.thinking_open() ? Icon::down : Icon::right,
                    .small = true,
                    .muted = true}))
            layout.set_thinking_open(!layout.thinking_open());
    }
    if (!visible(drawing, layout.thinking_text)) return;
    const ImVec2 begin = at(drawing, layout.thinking_text);
    const ImVec2 finish = end(drawing, layout.thinking_text);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled({drawing.origin.x, begin.y}, {drawing.origin.x + ui.px(2), finish.y}, ui.theme.border, ui.px(1));
    ImGui::PushClipRect(begin, finish, true);
    layout.thinking().draw(ui, {begin.x, begin.y + layout.thinking_shift}, std::max(begin.y, drawing.top),
                           std::min(finish.y, drawing.bottom), ui.theme.muted,
                           selection.part(drawing.index, MessageSection::thinking, layout.thinking().all()),
                           message.id * 2);
    ImGui::PopClipRect();
}

void draw_progress(Ui& ui, const MessageLayout& layout, const MessageDrawing& drawing, const EngineState& engine) {
    if (!visible(drawing, layout.progress)) return;
    const ImVec2 pen = at(drawing, layout.progress);
    ImGui::SetCursorScreenPos({pen.x, pen.y + ui.px(4)});
    if (layout.message().phase == MessagePhase::queued || engine.phase != EnginePhase::prefilling) {
        text_line(ui, Face::body, ui.theme.muted, "Waiting for the engine…");
        return;
    }
    std::string words = fmt::format("Reading {} of {} tokens", format_count(engine.done), format_count(engine.total));
    if (engine.reused_tokens > 0) words += fmt::format(", {} reused", format_count(engine.reused_tokens));
    if (engine.tokens_per_s > 0) words += " · " + format_rate(engine.tokens_per_s);
    if (engine.seconds_left >= 0) words += fmt::format(" · {} left", format_seconds(engine.seconds_left));
    text_line(ui, Face::body, ui.theme.muted, words, layout.progress.width);
    ImGui::SetCursorScreenPos({pen.x, pen.y + ui.px(30)});
    ImGui::PushClipRect(pen, end(drawing, layout.progress), true);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float width = std::min(layout.progress.width, ui.px(420));
    const float thick = ui.px(4);
    const double share = engine.total > 0 ? static_cast<double>(engine.done) / static_cast<double>(engine.total) : 0;
    const ImVec2 bar(pen.x, pen.y + ui.px(30));
    list.AddRectFilled(bar, {bar.x + width, bar.y + thick}, ui.theme.selected, thick);
    list.AddRectFilled(bar, {bar.x + std::max(width * static_cast<float>(std::min(share, 1.0)), thick), bar.y + thick},
                       ui.theme.accent, thick);
    ImGui::PopClipRect();
}

void draw_note(Ui& ui, const MessageLayout& layout, const MessageDrawing& drawing, Actions& actions) {
    if (!visible(drawing, layout.note)) return;
    const MessageView& message = layout.message();
    const bool failed = message.phase == MessagePhase::failed;
    const ImVec2 pen = at(drawing, layout.note);
    const ImU32 colour = failed ? ui.theme.error : ui.theme.muted;
    draw_icon(*ImGui::GetWindowDrawList(), failed ? Icon::warning : Icon::info, {pen.x, pen.y + ui.px(3)}, ui.px(18),
              colour);
    const ImVec2 words(pen.x + ui.px(26), pen.y);
    draw_text(ui, *ImGui::GetWindowDrawList(), layout.note_text, layout.note_layout, words, drawing.top, drawing.bottom,
              {colour, colour, 0});
    const bool can_go_on = message.phase == MessagePhase::stopped && drawing.newest && !message.text.empty();
    if (!can_go_on) return;
    ImGui::SetCursorScreenPos({pen.x + layout.note.width - ui.px(96), pen.y});
    const std::string label = fmt::format("Continue##continue-{}", message.id);
    if (button(ui, label.c_str(), {.icon = Icon::resume, .small = true}))
        actions.push_back(action::ContinueReply{message.id});
}

// A row of small buttons that appear under the mouse.
class FootRow {
  public:
    FootRow(Ui& ui, ImVec2 pen, int64_t message) : ui_(ui), pen_(pen), message_(message) {}

    bool icon(const char* name, Icon icon, const char* tip, bool enabled = true) {
        ImGui::SetCursorScreenPos(pen_);
        const std::string label = fmt::format("##{}-{}", name, message_);
        const bool clicked = button(ui_, label.c_str(),
                                    {.kind = ButtonKind::quiet,
                                     .icon = icon,
                                     .tooltip = tip,
                                     .enabled = enabled,
                                     .small = true,
                                     .muted = true});
        pen_.x += ui_.px(26);
        return clicked;
    }
    void words(const std::string& text) {
        ImGui::SetCursorScreenPos({pen_.x + ui_.px(2), pen_.y + ui_.px(4)});
        text_line(ui_, Face::small, ui_.theme.muted, text);
        pen_.x += text_size(ui_, Face::small, text).x + ui_.px(4);
    }
    void gap(float size) { pen_.x += ui_.px(size); }

  private:
    Ui& ui_;
    ImVec2 pen_;
    int64_t message_;
};

float siblings_width(Ui& ui, const MessageView& message) {
    if (message.siblings < 2) return 0;
    return text_size(ui, Face::small, fmt::format("{} / {}", message.sibling, message.siblings)).x + ui.px(62);
}

void draw_siblings(const MessageView& message, FootRow& row, Actions& actions) {
    if (message.siblings < 2) return;
    if (row.icon("older", Icon::left, "The version before this one", message.sibling > 1))
        actions.push_back(action::ShowSibling{message.id, message.sibling - 1});
    row.words(fmt::format("{} / {}", message.sibling, message.siblings));
    if (row.icon("newer", Icon::right, "The version after this one", message.sibling < message.siblings))
        actions.push_back(action::ShowSibling{message.id, message.sibling + 1});
    row.gap(6);
}

void confirm_delete(Ui& ui, const MessageView& message, Actions& actions) {
    const std::string name = fmt::format("delete-{}", message.id);
    push_popup_style(ui);
    if (ImGui::BeginPopup(name.c_str())) {
        text_line(ui, Face::body, ui.theme.text, "Delete this message and the answers to it?");
        space(ui, 6);
        const std::string label = fmt::format("Delete##really-{}", message.id);
        if (button(ui, label.c_str(), {.kind = ButtonKind::danger, .icon = Icon::trash})) {
            actions.push_back(action::DeleteMessage{message.id});
            ImGui::CloseCurrentPopup();
        }
        ImGui::SameLine();
        if (button(ui, "Keep##keep")) ImGui::CloseCurrentPopup();
        ImGui::EndPopup();
    }
    pop_popup_style();
}

void draw_buttons(const MessageLayout& layout, FootRow& row, Actions& actions) {
    const MessageView& message = layout.message();
    const bool user = message.role == Role::user;
    if (row.icon("copy", Icon::copy, user ? "Copy" : "Copy as Markdown")) ImGui::SetClipboardText(message.text.c_str());
    if (user && row.icon("edit", Icon::edit, "Edit and send again")) actions.push_back(action::EditMessage{message.id});
    if (!user && row.icon("retry", Icon::retry, "Write this reply again"))
        actions.push_back(action::RetryReply{message.id});
    if (!user && row.icon("edit", Icon::edit, "Edit this reply")) actions.push_back(action::EditMessage{message.id});
    if (row.icon("delete", Icon::trash, "Delete")) ImGui::OpenPopup(fmt::format("delete-{}", message.id).c_str());
}

void draw_foot(Ui& ui, const MessageLayout& layout, const MessageDrawing& drawing, Actions& actions) {
    const MessageView& message = layout.message();
    confirm_delete(ui, message, actions);
    if (!visible(drawing, layout.foot)) return;
    const ImVec2 pen = at(drawing, layout.foot);
    const bool user = message.role == Role::user;
    const bool asking = ImGui::IsPopupOpen(fmt::format("delete-{}", message.id).c_str());
    const bool buttons = !message.busy() && (drawing.under_mouse || asking || (drawing.newest && !user));
    const float buttons_width = ui.px(user ? 78 : 104);
    const float siblings = siblings_width(ui, message);
    if (user) {
        FootRow row(ui, {pen.x + layout.foot.width - siblings - buttons_width, pen.y}, message.id);
        if (!buttons) row.gap(78);
        if (buttons) draw_buttons(layout, row, actions);
        draw_siblings(message, row, actions);
        return;
    }
    FootRow row(ui, {pen.x - ui.px(5), pen.y}, message.id);
    draw_siblings(message, row, actions);
    if (buttons) draw_buttons(layout, row, actions);
    if (!message.figures) return;
    const std::string figures = figures_text(*message.figures);
    const float left = siblings + (buttons ? buttons_width + ui.px(6) : 0);
    const float room = layout.foot.width - left;
    if (room < ui.px(60)) return;
    ImGui::SetCursorScreenPos({pen.x + left, pen.y + ui.px(4)});
    text_line(ui, Face::small, ui.theme.muted, figures, room);
    tooltip(ui, figures + "\n" + message.figures->scheme + "\n" + message.figures->device);
}

}  // namespace

std::string figures_text(const ReplyFiguresView& figures) {
    std::string text =
        fmt::format("reused {} of {} tokens", format_count(figures.reused_tokens), format_count(figures.prompt_tokens));
    if (figures.prefilled_tokens > 0)
        text += fmt::format(", read {} at {}", format_count(figures.prefilled_tokens),
                            format_rate(figures.prefill_tokens_per_s));
    if (figures.decoded_tokens > 0)
        text += fmt::format(", wrote {} at {}", format_count(figures.decoded_tokens),
                            format_rate(figures.decode_tokens_per_s));
    return text;
}

void draw_message(Ui& ui, MessageLayout& layout, const MessageDrawing& drawing, const TextSelection& selection,
                  const EngineState& engine, Actions& actions) {
    const MessageView& message = layout.message();
    if (visible(drawing, layout.card))
        ImGui::GetWindowDrawList()->AddRectFilled(at(drawing, layout.card), end(drawing, layout.card), ui.theme.said,
                                                  ui.px(12));
    draw_attachments(ui, layout, drawing);
    draw_thinking(ui, layout, drawing, selection);
    if (visible(drawing, layout.body))
        layout.text().draw(ui, at(drawing, layout.body), drawing.top, drawing.bottom,
                           message.in_context ? ui.theme.text : ui.theme.muted,
                           selection.part(drawing.index, MessageSection::text, layout.text().all()),
                           message.id * 2 + 1);
    draw_progress(ui, layout, drawing, engine);
    draw_note(ui, layout, drawing, actions);
    draw_foot(ui, layout, drawing, actions);
}

}  // namespace octavo
