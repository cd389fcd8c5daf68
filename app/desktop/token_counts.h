// Counts of tokens that were asked for, and whoever waits for each.
//
// Threads: one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "app/desktop/engine_port.h"

namespace octavo {

class TokenCounts {
  public:
    using Then = std::function<void(const Result<int64_t>&)>;

    explicit TokenCounts(EnginePort& engine) : engine_(&engine) {}

    void count(std::string text, Then then) {
        waiting_[++last_ticket_] = std::move(then);
        engine_->count_tokens(last_ticket_, std::move(text));
    }
    void on(const TextCounted& counted) {
        auto node = waiting_.extract(counted.ticket);
        if (!node.empty()) node.mapped()(counted.tokens);
    }

  private:
    EnginePort* engine_;
    uint64_t last_ticket_ = 0;
    std::map<uint64_t, Then> waiting_;
};

}  // namespace octavo
