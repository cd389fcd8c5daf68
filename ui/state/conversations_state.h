// The list on the left.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octavo {

struct ConversationItem {
    int64_t id = 0;
    std::string title = {};
    std::string snippet = {};     // where the search found it; empty without a search
    std::string time_text = {};   // "14:02", "Tue", "3 Mar"
    std::string group_text = {};  // "Today", "Yesterday", "March": a heading goes where it changes
    int64_t messages = 0;
    bool busy = false;  // the engine works on it
};

struct ConversationsState {
    std::vector<ConversationItem> items = {};  // newest first, or best match first
    int64_t selected = 0;                      // 0: none
    std::string query = {};                    // what `items` answers
    bool loading = false;
    std::string error = {};
    // A deleted conversation can be had back for a while.
    struct Deleted {
        int64_t id = 0;
        std::string title = {};
    };
    std::optional<Deleted> deleted = {};
};

}  // namespace octavo
