#include "ui/text/text_editor.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

bool pressed(ImGuiKey key) { return ImGui::IsKeyPressed(key, true); }

TextBuffer::Step step_of(const ImGuiIO& io) {
    return io.KeyCtrl ? TextBuffer::Step::word : TextBuffer::Step::character;
}

}  // namespace

float TextEditor::height(Ui& ui, const TextEditorOptions& options) {
    lay_out(ui, options.width);
    return std::min(layout_.height, options.max_height);
}

void TextEditor::lay_out(Ui& ui, float width) {
    const Fonts* fonts = &ui.loader.fonts();
    if (laid_revision_ == buffer_.revision() && laid_width_ == width && laid_fonts_ == fonts) return;
    laid_revision_ = buffer_.revision();
    laid_width_ = width;
    laid_fonts_ = fonts;
    styled_ = {};
    styled_.append(buffer_.text(), style_plain);
    layout_ = lay_out_text(ui, styled_, {.width = width});
}

TextEditorResult TextEditor::draw(Ui& ui, const char* label, const TextEditorOptions& options) {
    TextEditorResult result;
    const float visible = height(ui, options);
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const ImVec2 end(origin.x + options.width, origin.y + visible);
    ImGuiContext& g = *ImGui::GetCurrentContext();  // the name that Dear ImGui's macros expect
    ImGuiWindow* window = g.CurrentWindow;
    const ImGuiID id = window->GetID(label);
    const ImRect box(origin, end);
    ImGui::ItemSize(box);
    if (!ImGui::ItemAdd(box, id, nullptr, ImGuiItemFlags_Inputable)) return result;
    IMGUI_TEST_ENGINE_ITEM_INFO(id, label, ImGuiItemStatusFlags_Inputable);

    const bool hovered = ImGui::ItemHoverable(box, id, ImGui::GetItemFlags());
    if (hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_TextInput);
    const bool by_keyboard = g.NavActivateId == id;
    if (wants_focus_ || by_keyboard || (hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Left))) {
        ImGui::SetActiveID(id, window);
        ImGui::SetFocusID(id, window);
        ImGui::FocusWindow(window);
        wants_focus_ = false;
    } else if (g.ActiveId == id && !hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
        ImGui::ClearActiveID();
    }
    focused_ = g.ActiveId == id;

    const ImVec2 text_origin(origin.x, origin.y - scroll_);
    if (focused_) {
        ImGui::KeepAliveID(id);
        g.WantTextInputNextFrame = 1;
        // One click reaches what lies beside the field.
        g.ActiveIdAllowOverlap = !g.IO.MouseDown[0];
        // Arrows, Home and the like are for the text, not for going from item to item.
        g.ActiveIdUsingNavDirMask = ~0U;
        g.ActiveIdUsingAllKeyboardKeys = false;
        handle_mouse(ui, text_origin);
        handle_keys(ui, options, result);
        if (buffer_.revision() != laid_revision_) {
            result.changed = true;
            lay_out(ui, options.width);
        }
    }
    scroll_to_cursor(std::min(layout_.height, options.max_height));
    if (hovered && layout_.height > visible && ImGui::GetIO().MouseWheel != 0)
        scroll_ =
            std::clamp(scroll_ - ImGui::GetIO().MouseWheel * layout_.line_height * 2, 0.0f, layout_.height - visible);

    ImDrawList& list = *window->DrawList;
    const ImVec2 corner(origin.x, std::floor(origin.y - scroll_));
    list.PushClipRect({origin.x - ui.px(2), origin.y}, {end.x + ui.px(2), end.y}, true);
    if (buffer_.text().empty()) {
        ImFont* font = ui.font(Face::body);
        const float leading = (layout_.line_height - font->FontSize) / 2;
        list.AddText(font, font->FontSize, {corner.x, std::floor(corner.y + leading)}, ui.theme.muted, options.hint);
    }
    if (buffer_.has_selection())
        draw_selection(ui, list, styled_, layout_, corner, origin.y, end.y,
                       static_cast<uint32_t>(buffer_.selection_begin()),
                       static_cast<uint32_t>(buffer_.selection_end()));
    draw_text(ui, list, styled_, layout_, corner, origin.y, end.y, {ui.theme.text, ui.theme.accent, 0});
    if (focused_) {
        const TextLine& line = layout_.lines[line_of(buffer_.cursor())];
        const float x =
            std::floor(corner.x + x_of(ui, styled_, layout_, line, static_cast<uint32_t>(buffer_.cursor())));
        const float y = corner.y + line.y;
        list.AddRectFilled({x, y + ui.px(2)}, {x + std::max(1.0f, ui.px(1.5f)), y + layout_.line_height - ui.px(2)},
                           ui.theme.accent);
    }
    list.PopClipRect();
    return result;
}

void TextEditor::handle_mouse(Ui& ui, ImVec2 text_origin) {
    const ImGuiIO& io = ImGui::GetIO();
    if (!io.MouseDown[0]) return;
    const uint32_t at = byte_at(ui, styled_, layout_, io.MousePos.x - text_origin.x, io.MousePos.y - text_origin.y);
    if (io.MouseClicked[0]) {
        const int clicks = io.MouseClickedCount[0];
        if (clicks == 1) buffer_.move_to(at, io.KeyShift);
        if (clicks == 2) buffer_.select_word(at);
        if (clicks >= 3) buffer_.select_all();
    } else if (ImGui::IsMouseDragging(ImGuiMouseButton_Left) && io.MouseClickedCount[0] < 2) {
        buffer_.move_to(at, true);
    }
    wanted_x_ = -1;
}

void TextEditor::handle_keys(Ui& ui, const TextEditorOptions& options, TextEditorResult& result) {
    ImGuiIO& io = ImGui::GetIO();
    if (!io.KeyCtrl || io.KeyAlt) {
        for (const ImWchar character : io.InputQueueCharacters) {
            char bytes[5] = {};
            if (character >= 0x20 && character != 0x7F) buffer_.insert(ImTextCharToUtf8(bytes, character));
        }
        if (!io.InputQueueCharacters.empty()) wanted_x_ = -1;
    }
    io.InputQueueCharacters.resize(0);
    if (pressed(ImGuiKey_Enter) || pressed(ImGuiKey_KeypadEnter)) {
        if (io.KeyShift)
            buffer_.insert("\n");
        else
            result.submitted = true;
    }
    if (pressed(ImGuiKey_Backspace)) buffer_.erase_left(step_of(io));
    if (pressed(ImGuiKey_Delete)) buffer_.erase_right(step_of(io));
    handle_moves(ui);
    if (io.KeyCtrl && !io.KeyAlt) handle_clipboard(options, result);
}

void TextEditor::handle_moves(Ui& ui) {
    const ImGuiIO& io = ImGui::GetIO();
    const bool select = io.KeyShift;
    if (pressed(ImGuiKey_UpArrow)) move_vertically(ui, -1, select);
    if (pressed(ImGuiKey_DownArrow)) move_vertically(ui, 1, select);
    const size_t before = buffer_.cursor();
    if (pressed(ImGuiKey_LeftArrow)) buffer_.move_left(step_of(io), select);
    if (pressed(ImGuiKey_RightArrow)) buffer_.move_right(step_of(io), select);
    if (laid_revision_ == buffer_.revision()) {
        const TextLine& line = layout_.lines[line_of(buffer_.cursor())];
        if (pressed(ImGuiKey_Home)) buffer_.move_to(io.KeyCtrl ? 0 : line.begin, select);
        if (pressed(ImGuiKey_End)) buffer_.move_to(io.KeyCtrl ? buffer_.text().size() : line.end, select);
    }
    if (before != buffer_.cursor()) wanted_x_ = -1;
}

void TextEditor::handle_clipboard(const TextEditorOptions& options, TextEditorResult& result) {
    if (pressed(ImGuiKey_A)) buffer_.select_all();
    if ((pressed(ImGuiKey_C) || pressed(ImGuiKey_X)) && buffer_.has_selection())
        ImGui::SetClipboardText(buffer_.selected().c_str());
    if (pressed(ImGuiKey_X)) buffer_.erase_selection();
    if (pressed(ImGuiKey_V)) {
        const char* pasted = ImGui::GetClipboardText();
        const std::string_view text = pasted != nullptr ? pasted : "";
        if (text.size() > options.longest_paste)
            result.long_paste = std::string(text);
        else
            buffer_.insert(text);
    }
    if (pressed(ImGuiKey_Z)) ImGui::GetIO().KeyShift ? buffer_.redo() : buffer_.undo();
    if (pressed(ImGuiKey_Y)) buffer_.redo();
}

void TextEditor::move_vertically(Ui& ui, int lines, bool select) {
    if (laid_revision_ != buffer_.revision()) return;
    const size_t line = line_of(buffer_.cursor());
    if (wanted_x_ < 0)
        wanted_x_ = x_of(ui, styled_, layout_, layout_.lines[line], static_cast<uint32_t>(buffer_.cursor()));
    if (lines < 0 && line == 0) return buffer_.move_to(0, select);
    if (lines > 0 && line + 1 == layout_.lines.size()) return buffer_.move_to(buffer_.text().size(), select);
    const TextLine& target = layout_.lines[lines < 0 ? line - 1 : line + 1];
    buffer_.move_to(byte_at(ui, styled_, layout_, wanted_x_, target.y + layout_.line_height / 2), select);
}

size_t TextEditor::line_of(size_t position) const {
    const auto after = std::partition_point(layout_.lines.begin(), layout_.lines.end(),
                                            [position](const TextLine& line) { return line.begin <= position; });
    return static_cast<size_t>(std::max<std::ptrdiff_t>(after - layout_.lines.begin() - 1, 0));
}

void TextEditor::scroll_to_cursor(float visible_height) {
    if (buffer_.cursor() != shown_cursor_) {
        const float y = layout_.lines[line_of(buffer_.cursor())].y;
        scroll_ = std::clamp(scroll_, y + layout_.line_height - visible_height, y);
        shown_cursor_ = buffer_.cursor();
    }
    scroll_ = std::clamp(scroll_, 0.0f, std::max(layout_.height - visible_height, 0.0f));
}

}  // namespace octavo
