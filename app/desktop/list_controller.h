// The list of conversations: newest first, or what a search finds; rename, delete and have back.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/desktop/services.h"
#include "ui/state/conversations_state.h"

namespace octavo {

class ListController {
  public:
    ListController(const Services& services, std::function<void()> changed);

    // Reads the list again; answers that come late are dropped.
    void refresh();
    void search(const std::string& query);
    void rename(int64_t id, const std::string& title);
    void remove(int64_t id);
    void restore(int64_t id);

    std::string title_of(int64_t id) const;  // empty: it is not in the list

    // `selected`, `busy`: conversations.
    void fill(ConversationsState& state, int64_t selected, int64_t busy) const;

  private:
    void show(std::vector<SearchHit> hits);

    Services services_;
    std::function<void()> changed_;
    ConversationsState state_;
    uint64_t asked_ = 0;
};

// "14:02", "Tue", "3 Mar 2025", and the heading above it: "Today", "Yesterday", "This week", "March 2025".
struct CalendarText {
    std::string time;
    std::string group;
};
CalendarText calendar_text(int64_t time_ms, int64_t now_ms);

}  // namespace octavo
