// The whole interface, one frame at a time: the conversations on the left, the transcript and the composer in the
// middle, the panels on the right. In a narrow window the sides become drawers over the middle.
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/composer_view.h"
#include "ui/conversations_view.h"
#include "ui/layout.h"
#include "ui/panels/file_browser.h"
#include "ui/panels/kv_panel.h"
#include "ui/panels/model_panel.h"
#include "ui/panels/recall_panel.h"
#include "ui/panels/sampling_panel.h"
#include "ui/transcript/transcript_view.h"
#include "ui/ui.h"
#include "ui/view_state.h"

namespace octavo {

class Interface {
  public:
    explicit Interface(const WindowLayout& layout) : layout_(layout) {}

    WindowLayout& layout() { return layout_; }
    // Beside the middle, or over it where the last frame had no room for it there.
    void show_panel(SidePanel panel);
    ComposerView& composer() { return composer_; }
    TranscriptView& transcript() { return transcript_; }
    // Draws into the current frame, which it fills; what the person asked for is added to `actions`.
    void draw(Ui& ui, const ViewState& state, Actions& actions);

  private:
    // How the columns share the window now.
    struct Columns {
        bool list_beside = false;   // beside the middle; else it can only lie over it
        bool panel_beside = false;  // the same
        float list = 0;             // pixels
        float panel = 0;
        float middle = 0;
    };
    Columns share_width(Ui& ui, float width) const;

    void handle_keys(const ViewState& state, Actions& actions);
    void draw_header(Ui& ui, const ViewState& state, const Columns& columns, Actions& actions);
    void draw_middle(Ui& ui, const ViewState& state, const Columns& columns, Actions& actions);
    void draw_list_column(Ui& ui, const ViewState& state, Actions& actions);
    void draw_panel_column(Ui& ui, const ViewState& state, Actions& actions);
    void draw_edge(Ui& ui, const char* label, bool on_the_right, float& width);
    void draw_drawers(Ui& ui, const ViewState& state, const Columns& columns, Actions& actions);
    bool list_toggled(const Columns& columns) const { return columns.list_beside ? layout_.list_open : list_drawer_; }
    void toggle_list(const Columns& columns) { flip(columns.list_beside ? layout_.list_open : list_drawer_); }
    void toggle_panel(const Columns& columns) { flip(columns.panel_beside ? layout_.panel_open : panel_drawer_); }
    static void flip(bool& value) { value = !value; }
    void change_scale(float factor);

    WindowLayout layout_;
    Columns columns_;  // of the last frame
    bool list_drawer_ = false;
    bool panel_drawer_ = false;
    bool help_ = false;

    ConversationsView conversations_;
    TranscriptView transcript_;
    ComposerView composer_;
    ModelInput model_;
    KvInput kv_;
    RecallInput recall_;
    SamplingInput sampling_;
    FileBrowserInput file_browser_;
};

}  // namespace octavo
