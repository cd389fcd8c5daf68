// The KV cache tab: what every choice costs, and bringing a choice about in the middle of a conversation.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/desktop/chat_controller.h"
#include "app/desktop/kv_pricing.h"
#include "app/desktop/model_controller.h"
#include "app/desktop/services.h"

namespace octavo {

class CacheController {
  public:
    CacheController(Services services, ChatController& chat, ModelController& model, std::function<void()> changed);

    void remember(const Settings& settings);

    void price(const KvChoice& choice);
    // Refused with numbers where it does not fit.
    void apply(const KvChoice& choice);
    void discard();
    void rebuild();
    void set_headroom(int64_t bytes);
    // A prompt of this many tokens did not fit: says what can be done, each with its cost.
    void offer_room(int64_t tokens);

    // What a new conversation gets: `kv`, and the longest context that fits.
    CacheWish fitting(const KvSettings& kv) const;
    // One sentence: the contexts that fit on this machine.
    std::string contexts_text() const;
    // Of another model nothing that was measured holds.
    void forget_measured();
    bool busy() const { return changing_ || rebuilding_; }

    void on(const CacheMeasured& event);
    void on(const CacheProgressed& event);
    void on(const CacheChanged& event);
    void on(const RebuildProgressed& event);
    void on(const RebuildEnded& event);

    void fill(KvState& state) const;
    void fill(EngineState& state) const;

  private:
    struct Work {
        std::string conversation;
        CacheWish before;
        Job::Progress progress;
    };
    KvSituation situation() const;
    bool engine_holds_it() const;  // the conversation that is shown
    void announce(const CacheChanged& event, const CacheWish& before);

    Services services_;
    ChatController& chat_;
    ModelController& model_;
    std::function<void()> changed_;
    int64_t headroom_bytes_ = 0;
    std::optional<KvChoice> wanted_;  // the last that a price was asked for
    std::map<std::string, CacheState> measured_;
    std::map<std::string, int64_t> exact_from_;
    std::optional<Work> changing_;
    std::optional<Work> rebuilding_;
    std::string error_;
};

}  // namespace octavo
