// Who is told of every item that Dear ImGui draws, where ImGuiContext::TestEngine points to one and
// ImGuiContext::TestEngineHookItems is true.
#pragma once

#include "imgui.h"

class OctavoImGuiWatch {
  public:
    virtual ~OctavoImGuiWatch() = default;
    virtual void item(ImGuiID id, ImVec2 min, ImVec2 max) = 0;  // the part that is on the screen
    virtual void label(ImGuiID id, const char* label) = 0;      // of an item told before
};

// Misuses of Dear ImGui on this thread so far (see imconfig.h).
int octavo_imgui_misuses();
