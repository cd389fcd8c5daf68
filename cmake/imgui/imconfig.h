// How Dear ImGui is compiled: tools/setup builds the library with this file in the place of the library's own, and
// keeps a copy beside its headers, which is the one that everything includes.
#pragma once

// Emoji and rare Chinese characters lie beyond 16 bits, and so do the vertices of a long transcript.
#define IMGUI_USE_WCHAR32
#define ImDrawIdx unsigned int

#define IMGUI_ENABLE_FREETYPE
#define IMGUI_DISABLE_DEMO_WINDOWS
#define IMGUI_DISABLE_OBSOLETE_FUNCTIONS

// Tests and `octavo --test` find buttons by name through these hooks (ui/testing/). They are off unless asked for, and
// cost one look at a bool an item; so what is tested is what is shipped.
#define IMGUI_ENABLE_TEST_ENGINE

// One context a thread: font atlases are built on a worker, tests may run side by side.
struct ImGuiContext;
extern thread_local ImGuiContext* octavo_imgui_context;
#define GImGui octavo_imgui_context

// A misuse of the library is counted, and a test fails for it; a person's window goes on.
void octavo_imgui_misused(const char* expression, const char* file, int line);
#define IM_ASSERT(expression) \
    (static_cast<bool>(expression) ? (void)0 : octavo_imgui_misused(#expression, __FILE__, __LINE__))
