// One Dear ImGui context with fonts and colours of ours, with no idea where its input comes from and where its pictures
// go: the window and the headless one put that around it.
//
// Threads: the context belongs to the thread that made it.
#pragma once

#include <imgui.h>

#include <functional>
#include <memory>

#include "ui/font_loader.h"
#include "ui/theme.h"

namespace octavo {

class ImGuiSession {
  public:
    // `fonts_ready`: see FontLoader.
    ImGuiSession(float scale, ThemeChoice theme, std::function<void()> fonts_ready);
    ~ImGuiSession();
    ImGuiSession(const ImGuiSession&) = delete;
    ImGuiSession& operator=(const ImGuiSession&) = delete;

    ImGuiIO& io() { return ImGui::GetIO(); }
    FontLoader& loader() { return loader_; }
    const Theme& theme() const { return theme_colours(theme_); }

    // Before a frame. True: the atlas is another one, so its texture must be made again.
    bool prepare(float scale, ThemeChoice theme);

  private:
    void use_fonts();

    FontLoader loader_;
    ThemeChoice theme_;
    std::unique_ptr<Fonts> replaced_;  // the last frame's draw lists may point into it
    ImGuiContext* context_;
};

}  // namespace octavo
