// The whole interface, one frame at a time: the conversations on the left, the transcript and the composer in the
// middle, the panels on the right. In a narrow window the sides become drawers over the middle.
//
// Threads: the window's.
#pragma once

#include "ui/actions.h"
#include "ui/layout.h"
#include "ui/panels/file_browser.h"
#include "ui/panels/kv_panel.h"
#include "ui/panels/model_panel.h"
#include "ui/panels/recall_panel.h"
#include "ui/panels/sampling_panel.h"
#include "ui/ui.h"
#include "ui/view_state.h"

namespace octavo {

class Interface {
  public:
    explicit Interface(const WindowLayout& layout) : layout_(layout) {}

    WindowLayout& layout() { return layout_; }
    // Draws into the current frame, which it fills; what the person asked for is added to `actions`.
    void draw(Ui& ui, const ViewState& state, Actions& actions);

  private:
    void draw_list_column(Ui& ui, const ViewState& state, Actions& actions);
    void draw_middle(Ui& ui, const ViewState& state, Actions& actions);
    void draw_panel_column(Ui& ui, const ViewState& state, Actions& actions);

    WindowLayout layout_;
    ModelInput model_;
    KvInput kv_;
    RecallInput recall_;
    SamplingInput sampling_;
    FileBrowserInput file_browser_;
};

}  // namespace octavo
