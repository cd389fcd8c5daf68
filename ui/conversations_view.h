// The list of conversations on the left: search, open, rename, export, delete.
//
// Threads: the window's.
#pragma once

#include <string>

#include "ui/actions.h"
#include "ui/state/conversations_state.h"
#include "ui/ui.h"

namespace octavo {

class ConversationsView {
  public:
    // Fills the region.
    void draw(Ui& ui, const ConversationsState& state, Actions& actions);
    void focus_search() { wants_search_ = true; }

  private:
    void draw_search(Ui& ui, const ConversationsState& state, Actions& actions);
    void draw_items(Ui& ui, const ConversationsState& state, Actions& actions);
    void draw_item(Ui& ui, const ConversationItem& item, bool selected, Actions& actions);
    void draw_menu(Ui& ui, const ConversationItem& item, Actions& actions);
    void draw_rename(Ui& ui, const ConversationItem& item, Actions& actions);
    void draw_deleted(Ui& ui, const ConversationsState& state, Actions& actions);

    std::string query_;
    bool wants_search_ = false;
    int64_t renaming_ = 0;  // 0: none
    std::string new_title_;
    bool wants_rename_focus_ = false;
};

}  // namespace octavo
