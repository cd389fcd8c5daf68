// What imconfig.h and octavo_imgui_watch.h declare, and what Dear ImGui calls on its test hooks; compiled into
// the library by tools/setup.
#include <cstdio>

#include "imgui.h"
#include "imgui_internal.h"
#include "octavo_imgui_watch.h"

thread_local ImGuiContext* octavo_imgui_context = nullptr;

static thread_local int misuses = 0;

int octavo_imgui_misuses() { return misuses; }

void octavo_imgui_misused(const char* expression, const char* file, int line) {
    if (++misuses <= 3) std::fprintf(stderr, "%s:%d: Dear ImGui was misused: %s\n", file, line, expression);
}

static OctavoImGuiWatch* watch_of(ImGuiContext* context) { return static_cast<OctavoImGuiWatch*>(context->TestEngine); }

void ImGuiTestEngineHook_ItemAdd(ImGuiContext* context, ImGuiID id, const ImRect& box, const ImGuiLastItemData*) {
    ImRect visible = box;
    visible.ClipWith(context->CurrentWindow->ClipRect);
    if (id != 0 && visible.GetWidth() > 0 && visible.GetHeight() > 0)
        watch_of(context)->item(id, visible.Min, visible.Max);
}

void ImGuiTestEngineHook_ItemInfo(ImGuiContext* context, ImGuiID id, const char* label, ImGuiItemStatusFlags) {
    watch_of(context)->label(id, label);
}

void ImGuiTestEngineHook_Log(ImGuiContext*, const char*, ...) {}

const char* ImGuiTestEngine_FindItemDebugLabel(ImGuiContext*, ImGuiID) { return nullptr; }
