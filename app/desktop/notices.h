// The sentences that stay at the top of the window until they are dismissed. One with a topic replaces the former one
// of that topic, so that a trouble that comes again does not pile up.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ui/view_state.h"

namespace octavo {

class Notices {
  public:
    void add(NoticeKind kind, std::string text, std::string topic = "", std::vector<Notice::Button> buttons = {}) {
        if (!topic.empty()) drop(topic);
        topics_.push_back(std::move(topic));
        list_.push_back({++last_id_, kind, std::move(text), std::move(buttons)});
        ++revision_;
    }
    void drop(std::string_view topic) {
        for (size_t i = topics_.size(); i-- > 0;)
            if (topics_[i] == topic) erase(i);
    }
    void dismiss(int64_t id) {
        for (size_t i = list_.size(); i-- > 0;)
            if (list_[i].id == id) erase(i);
    }
    const std::vector<Notice>& list() const { return list_; }
    uint64_t revision() const { return revision_; }  // grows with every change

  private:
    void erase(size_t i) {
        list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(i));
        topics_.erase(topics_.begin() + static_cast<std::ptrdiff_t>(i));
        ++revision_;
    }

    int64_t last_id_ = 0;
    uint64_t revision_ = 0;
    std::vector<Notice> list_;
    std::vector<std::string> topics_;  // of each of list_; empty: none
};

}  // namespace octavo
