#include "ui/interface.h"

#include <fmt/format.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "ui/help_view.h"
#include "ui/notices_view.h"
#include "ui/number_text.h"
#include "ui/text/clean_text.h"
#include "ui/welcome_view.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr ImGuiWindowFlags kWholeWindow = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                          ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                          ImGuiWindowFlags_NoNavFocus | ImGuiWindowFlags_NoScrollWithMouse;
constexpr ImGuiWindowFlags kFixed = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;

constexpr float kHeader = 48;
constexpr float kNarrowestMiddle = 420;  // with a side beside it
constexpr float kMiddleMargin = 16;      // beside the composer
constexpr float kWidestComposer = 772;
constexpr float kNarrowestSide = 200;
constexpr float kWidestSide = 560;

constexpr const char* kPanelNames[side_panel_count] = {"Model##panel", "KV cache##panel", "Recall##panel",
                                                       "Sampling##panel"};

bool chord(ImGuiKey key) {
    const ImGuiIO& io = ImGui::GetIO();
    return io.KeyCtrl && !io.KeyAlt && !io.KeyShift && ImGui::IsKeyPressed(key, false);
}

// A conversation that has just begun has its title in the list first.
std::string title_of(const ViewState& state) {
    if (!state.transcript.title.empty()) return clean_text(state.transcript.title);
    const auto& items = state.conversations.items;
    const auto found = std::find_if(items.begin(), items.end(), [&](const ConversationItem& item) {
        return item.id == state.transcript.conversation;
    });
    return found == items.end() ? "" : clean_text(found->title);
}

// What the engine is doing, in a few words.
std::string engine_text(const EngineState& engine) {
    const std::string share = engine.total > 0 ? fmt::format(" {}%", engine.done * 100 / engine.total) : std::string();
    switch (engine.phase) {
        case EnginePhase::no_model: return "No model";
        case EnginePhase::loading: return "Loading" + share;
        case EnginePhase::prefilling: return "Reading" + share;
        case EnginePhase::decoding:
            return engine.tokens_per_s > 0 ? "Writing, " + format_rate(engine.tokens_per_s) : "Writing";
        case EnginePhase::converting: return "Converting the cache" + share;
        case EnginePhase::measuring: return "Checking recall" + share;
        case EnginePhase::failed: return "Failed";
        case EnginePhase::idle: break;
    }
    return "";
}

}  // namespace

Interface::Columns Interface::share_width(Ui& ui, float width) const {
    Columns columns;
    const float least = ui.px(kNarrowestMiddle);
    columns.list = std::min(ui.px(layout_.list_width), width - ui.px(40));
    columns.panel = std::min(ui.px(layout_.panel_width), width - ui.px(40));
    columns.panel_beside = width - columns.panel >= least;
    const float taken = columns.panel_beside && layout_.panel_open ? columns.panel : 0;
    columns.list_beside = width - columns.list - taken >= least;
    columns.middle = width - taken - (columns.list_beside && layout_.list_open ? columns.list : 0);
    return columns;
}

void Interface::draw(Ui& ui, const ViewState& state, Actions& actions) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("Octavo", nullptr, kWholeWindow);
    columns_ = share_width(ui, ImGui::GetContentRegionAvail().x);
    handle_keys(state, actions);

    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 0);
    if (columns_.list_beside && layout_.list_open) {
        draw_list_column(ui, state, actions);
        ImGui::SameLine();
    }
    ImGui::BeginChild("middle", {columns_.middle, 0}, ImGuiChildFlags_None, kFixed);
    draw_middle(ui, state, columns_, actions);
    ImGui::EndChild();
    if (columns_.panel_beside && layout_.panel_open) {
        ImGui::SameLine();
        draw_panel_column(ui, state, actions);
    }
    draw_drawers(ui, state, columns_, actions);
    ImGui::PopStyleVar(2);
    draw_help(ui, help_);
    draw_file_browser(ui, state.file_browser, file_browser_, actions);
    ImGui::End();
}

void Interface::handle_keys(const ViewState& state, Actions& actions) {
    if (ImGui::IsKeyPressed(ImGuiKey_F1, false)) help_ = !help_;
    if (ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel)) return;
    if (chord(ImGuiKey_N)) actions.push_back(action::NewConversation{});
    if (chord(ImGuiKey_O)) actions.push_back(action::AttachFile{});
    if (chord(ImGuiKey_Q)) actions.push_back(action::Quit{});
    if (chord(ImGuiKey_B)) toggle_list(columns_);
    if (chord(ImGuiKey_J)) toggle_panel(columns_);
    if (chord(ImGuiKey_L)) composer_.focus();
    if (chord(ImGuiKey_D)) layout_.theme = layout_.theme == ThemeChoice::dark ? ThemeChoice::light : ThemeChoice::dark;
    if (chord(ImGuiKey_F)) {
        if (!list_toggled(columns_)) toggle_list(columns_);
        conversations_.focus_search();
    }
    for (int i = 0; i < side_panel_count; ++i)
        if (chord(static_cast<ImGuiKey>(ImGuiKey_1 + i))) show_panel(static_cast<SidePanel>(i));
    const ImGuiIO& io = ImGui::GetIO();
    if (io.KeyCtrl && (ImGui::IsKeyPressed(ImGuiKey_Equal) || ImGui::IsKeyPressed(ImGuiKey_KeypadAdd)))
        change_scale(1.1f);
    if (io.KeyCtrl && (ImGui::IsKeyPressed(ImGuiKey_Minus) || ImGui::IsKeyPressed(ImGuiKey_KeypadSubtract)))
        change_scale(1 / 1.1f);
    if (chord(ImGuiKey_0)) layout_.scale = 1;
    if (chord(ImGuiKey_R) && !state.engine.busy() && !state.transcript.messages.empty()) {
        const MessageView& newest = *state.transcript.messages.back();
        if (newest.role == Role::assistant) actions.push_back(action::RetryReply{newest.id});
    }
    if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) {
        const bool stoppable =
            state.engine.phase == EnginePhase::prefilling || state.engine.phase == EnginePhase::decoding;
        if (list_drawer_ || panel_drawer_)
            list_drawer_ = panel_drawer_ = false;
        else if (stoppable)
            actions.push_back(action::Stop{});
        else if (state.composer.editing_message != 0)
            actions.push_back(action::CancelEdit{});
    }
    // Typing with nothing chosen goes into the message.
    if (!ImGui::IsAnyItemActive() && !io.InputQueueCharacters.empty() && !io.KeyCtrl) composer_.focus();
}

void Interface::show_panel(SidePanel panel) {
    layout_.panel = panel;
    (columns_.panel_beside ? layout_.panel_open : panel_drawer_) = true;
}

void Interface::change_scale(float factor) {
    layout_.scale = std::clamp(std::round(layout_.scale * factor * 20) / 20, smallest_scale, largest_scale);
}

void Interface::draw_header(Ui& ui, const ViewState& state, const Columns& columns, Actions& actions) {
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float height = ui.px(kHeader);
    const float width = columns.middle;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float left = ui.px(8);
    float right = width - ui.px(8);
    const auto icon_at = [&](float x, const char* label, Icon icon, const char* tip) {
        ImGui::SetCursorScreenPos({origin.x + x, origin.y + ui.px(9)});
        return button(ui, label, {.kind = ButtonKind::quiet, .icon = icon, .tooltip = tip, .muted = true});
    };
    if (icon_at(left, "##toggle-list", Icon::list, "Conversations (Ctrl+B)")) toggle_list(columns);
    left += ui.px(34);
    if (!(columns.list_beside && layout_.list_open)) {
        if (icon_at(left, "##new-chat", Icon::plus, "New chat (Ctrl+N)")) actions.push_back(action::NewConversation{});
        left += ui.px(34);
    }
    right -= ui.px(30);
    if (icon_at(right, "##toggle-panel", Icon::panel, "Model, KV cache, recall, sampling (Ctrl+J)"))
        toggle_panel(columns);
    right -= ui.px(34);
    if (icon_at(right, "##help", Icon::help, "Keys (F1)")) help_ = true;
    right -= ui.px(34);
    const bool dark = layout_.theme == ThemeChoice::dark;
    if (icon_at(right, "##theme", dark ? Icon::sun : Icon::moon, dark ? "Light (Ctrl+D)" : "Dark (Ctrl+D)"))
        layout_.theme = dark ? ThemeChoice::light : ThemeChoice::dark;
    right -= ui.px(12);

    // The model and what it does, on the right; the title gets what is left.
    const std::string doing = engine_text(state.engine);
    const std::string model = clean_text(state.engine.model);
    const std::string words = model.empty() ? doing : doing.empty() ? model : model + " · " + doing;
    const float wanted = text_size(ui, Face::small, words).x + ui.px(16);
    const float status = std::min(wanted, (right - left) * 0.6f);
    const ImU32 colour = state.engine.phase == EnginePhase::failed ? ui.theme.error
                         : state.engine.busy()                     ? ui.theme.accent
                                                                   : ui.theme.muted;
    if (status > ui.px(50)) {
        const float x = origin.x + right - status;
        list.AddCircleFilled({x + ui.px(4), origin.y + height / 2 + ui.px(0.5f)}, ui.px(3.5f),
                             state.engine.phase == EnginePhase::idle ? ui.theme.success : colour);
        ImGui::SetCursorScreenPos({x + ui.px(14), origin.y + (height - ui.font(Face::small)->FontSize) / 2});
        text_line(ui, Face::small, colour, words, status - ui.px(14));
        tooltip(ui, fmt::format("{}\n{}\n{}", state.engine.model, state.engine.scheme, state.engine.device));
        right -= status + ui.px(16);
    }
    ImGui::SetCursorScreenPos({origin.x + left + ui.px(4), origin.y + (height - ui.font(Face::strong)->FontSize) / 2});
    if (right - left > ui.px(40)) text_line(ui, Face::strong, ui.theme.text, title_of(state), right - left);
    ImGui::SetCursorScreenPos({origin.x, origin.y + height});
    hairline(ui);
}

void Interface::draw_middle(Ui& ui, const ViewState& state, const Columns& columns, Actions& actions) {
    draw_header(ui, state, columns, actions);
    if (!state.transcript.error.empty()) {
        ImGui::SetCursorPos({ui.px(kMiddleMargin), ImGui::GetCursorPosY() + ui.px(8)});
        text_block(ui, Face::small, ui.theme.warning, clean_text(state.transcript.error));
        space(ui, 6);
    }
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float margin = ui.px(kMiddleMargin);
    const float composer_width = std::min(room.x - 2 * margin, ui.px(kWidestComposer));
    const float composer_height = composer_.height(ui, state.composer, composer_width);
    const float composer_x = origin.x + std::floor((room.x - composer_width) / 2);
    const float composer_y = origin.y + room.y - composer_height - ui.px(14);

    ImGui::BeginChild("transcript", {room.x, std::max(composer_y - origin.y - ui.px(8), 1.0f)}, ImGuiChildFlags_None,
                      kFixed);
    if (state.transcript.messages.empty() && state.welcome.shown && !state.transcript.loading) {
        if (draw_welcome(ui, state.welcome, ImGui::GetContentRegionAvail(), actions)) show_panel(SidePanel::recall);
    } else if (state.transcript.messages.empty()) {
        const char* words = state.transcript.loading ? "Opening…" : "Ask about a text: attach it, or drop it here.";
        const ImVec2 size = text_size(ui, Face::body, words);
        ImGui::SetCursorPos({std::max((room.x - size.x) / 2, margin), (composer_y - origin.y - size.y) / 2});
        text_line(ui, Face::body, ui.theme.muted, words, room.x - 2 * margin);
    } else {
        transcript_.draw(ui, state.transcript, state.engine, actions);
    }
    ImGui::EndChild();

    ImGui::SetCursorScreenPos({composer_x, composer_y});
    const size_t before = actions.size();
    composer_.draw(ui, state.composer, state.engine, composer_width, actions);
    for (size_t i = before; i < actions.size(); ++i)
        if (std::holds_alternative<action::SendMessage>(actions[i])) transcript_.scroll_to_end();

    if (!state.notices.empty()) {
        ImGui::SetCursorScreenPos({composer_x, origin.y + ui.px(10)});
        ImGui::BeginGroup();
        draw_notices(ui, state.notices, composer_width, actions);
        ImGui::EndGroup();
    }
}

void Interface::draw_list_column(Ui& ui, const ViewState& state, Actions& actions) {
    ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme.panel);
    ImGui::BeginChild("list", {columns_.list, 0}, ImGuiChildFlags_None, kFixed);
    ImGui::PopStyleColor();
    conversations_.draw(ui, state.conversations, actions);
    draw_edge(ui, "##list-edge", true, layout_.list_width);
    ImGui::EndChild();
}

// The edge of a side towards the middle, which can be dragged. In the side's own window, so that it can be reached.
void Interface::draw_edge(Ui& ui, const char* label, bool on_the_right, float& width) {
    const ImVec2 corner = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    const float thick = ui.px(5);
    const float x = on_the_right ? corner.x + size.x - thick : corner.x;
    const ImVec2 cursor = ImGui::GetCursorScreenPos();
    const ImVec2 reached = ImGui::GetCurrentWindow()->DC.CursorMaxPos;
    ImGui::PushClipRect(corner, {corner.x + size.x, corner.y + size.y}, false);  // the padding too
    ImGui::SetCursorScreenPos({x, corner.y});
    ImGui::InvisibleButton(label, {thick, size.y});
    if (ImGui::IsItemActive()) {
        const float wider = ImGui::GetIO().MouseDelta.x * (on_the_right ? 1.0f : -1.0f);
        width = std::clamp(width + wider / ui.px(1), kNarrowestSide, kWidestSide);
    }
    if (ImGui::IsItemActive() || ImGui::IsItemHovered()) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
        const float line = on_the_right ? x + thick - ui.px(2) : x;
        ImGui::GetWindowDrawList()->AddRectFilled({line, corner.y}, {line + ui.px(2), corner.y + size.y},
                                                  ui.theme.border);
    }
    ImGui::PopClipRect();
    ImGui::SetCursorScreenPos(cursor);
    ImGui::Dummy({0, 0});
    ImGui::GetCurrentWindow()->DC.CursorMaxPos = reached;  // the edge is no content to scroll to
}

void Interface::draw_panel_column(Ui& ui, const ViewState& state, Actions& actions) {
    ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme.panel);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(ui.px(16), ui.px(9)));
    ImGui::BeginChild("panel", {columns_.panel, 0}, ImGuiChildFlags_AlwaysUseWindowPadding);
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(6)));
    const int chosen = segments(ui, kPanelNames, side_panel_count, static_cast<int>(layout_.panel));
    if (chosen >= 0) layout_.panel = static_cast<SidePanel>(chosen);
    switch (layout_.panel) {
        case SidePanel::model: draw_model_panel(ui, state.model, model_, actions); break;
        case SidePanel::kv: draw_kv_panel(ui, state.kv, kv_, actions); break;
        case SidePanel::recall: draw_recall_panel(ui, state.recall, recall_, actions); break;
        case SidePanel::sampling: draw_sampling_panel(ui, state.sampling, sampling_, actions); break;
    }
    space(ui, 12);
    draw_edge(ui, "##panel-edge", false, layout_.panel_width);
    ImGui::PopStyleVar();
    ImGui::EndChild();
}

// A side that has no room beside the middle lies over it; a click beside it closes it.
void Interface::draw_drawers(Ui& ui, const ViewState& state, const Columns& columns, Actions& actions) {
    list_drawer_ = list_drawer_ && !columns.list_beside;
    panel_drawer_ = panel_drawer_ && !columns.panel_beside;
    if (!list_drawer_ && !panel_drawer_) return;
    if (list_drawer_ && panel_drawer_) list_drawer_ = false;

    const ImVec2 screen = ImGui::GetIO().DisplaySize;
    ImGui::SetCursorScreenPos({0, 0});
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 90));
    ImGui::BeginChild("drawer-shade", screen, ImGuiChildFlags_None, kFixed);
    ImGui::PopStyleColor();
    ImGui::SetNextItemAllowOverlap();
    if (ImGui::InvisibleButton("##close-drawer", screen)) list_drawer_ = panel_drawer_ = false;
    const size_t before = actions.size();
    if (list_drawer_) {
        ImGui::SetCursorScreenPos({0, 0});
        draw_list_column(ui, state, actions);
    } else if (panel_drawer_) {
        ImGui::SetCursorScreenPos({screen.x - columns.panel, 0});
        draw_panel_column(ui, state, actions);
    }
    for (size_t i = before; i < actions.size(); ++i)
        if (std::holds_alternative<action::OpenConversation>(actions[i]) ||
            std::holds_alternative<action::NewConversation>(actions[i]))
            list_drawer_ = false;
    ImGui::EndChild();
}

}  // namespace octavo
