#include "ui/imgui_session.h"

#include <utility>

namespace octavo {

ImGuiSession::ImGuiSession(float scale, ThemeChoice theme, std::function<void()> fonts_ready)
    : loader_(scale, std::move(fonts_ready)), theme_(theme), context_(ImGui::CreateContext(&loader_.fonts().atlas)) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& settings = io();
    settings.IniFilename = nullptr;  // what is remembered is in WindowLayout
    settings.LogFilename = nullptr;
    settings.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
    settings.ConfigInputTextCursorBlink = false;  // a blink would wake the machine twice a second
    settings.ConfigWindowsMoveFromTitleBarOnly = true;
    use_fonts();
}

ImGuiSession::~ImGuiSession() { ImGui::DestroyContext(context_); }

bool ImGuiSession::prepare(float scale, ThemeChoice theme) {
    const float old_scale = loader_.fonts().scale;
    loader_.set_scale(scale);
    std::unique_ptr<Fonts> replaced = loader_.update();
    const bool other_fonts = replaced != nullptr;
    if (other_fonts) replaced_ = std::move(replaced);
    if (other_fonts || theme != theme_ || old_scale != loader_.fonts().scale) {
        theme_ = theme;
        use_fonts();
    }
    return other_fonts;
}

void ImGuiSession::use_fonts() {
    io().Fonts = &loader_.fonts().atlas;
    io().FontDefault = loader_.fonts()[Face::body];
    apply_theme(this->theme(), loader_.fonts().scale);
}

}  // namespace octavo
