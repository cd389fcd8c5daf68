// An engine that does what a test tells it: commands are written down, events come when the test says.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/desktop/engine_port.h"
#include "app/model_choice.h"

namespace octavo::test {

class FakeEngine : public EnginePort {
  public:
    explicit FakeEngine(std::shared_ptr<const Model> model) : model_(std::move(model)) {
        memory.total = size_t{8} << 30;
        memory.available = size_t{4} << 30;
    }

    void load_model(ModelRequest request) override {
        loads.push_back(request);
        if (loads_by_itself) finish_load();
    }
    void cancel_load() override { ++cancelled_loads; }
    void reply(ReplyRequest request) override { replies.push_back(std::move(request)); }
    void change_cache(std::string conversation, CacheWish wish) override { changes.emplace_back(conversation, wish); }
    void rebuild(std::string conversation) override { rebuilds.push_back(std::move(conversation)); }
    void stop() override { ++stops; }
    void close(std::string conversation) override { closed.push_back(std::move(conversation)); }
    void count_tokens(uint64_t ticket, std::string text) override {
        counted.push_back(text);
        // One token a word, so that tests can count themselves.
        int64_t words = text.empty() ? 0 : 1;
        for (const char c : text) words += c == ' ';
        if (counts_by_itself)
            put(TextCounted{ticket, words});
        else
            held_counts.push_back({ticket, words});
    }
    void run_recall(RecallPlan plan) override { recalls.push_back(std::move(plan)); }
    void stop_recall() override { ++stopped_recalls; }
    std::vector<EngineEvent> take_events() override { return std::exchange(events_, {}); }
    MachineMemory machine_memory() const override { return memory; }

    void put(EngineEvent event) { events_.push_back(std::move(event)); }
    void finish_load() {
        EngineInfo info;
        info.device = "cpu";
        info.backend = "cpu, fake";
        info.context_length = model_->config.context_length;
        info.memory.workspace_bytes = 1 << 20;
        put(ModelLoaded{model_, info, {}});
    }
    void release_counts() {
        for (TextCounted& count : std::exchange(held_counts, {})) put(std::move(count));
    }

    // The last reply that was asked for.
    void stream(const std::string& text, const std::string& reasoning = "") {
        GenerationDelta delta;
        delta.text = text;
        delta.reasoning = reasoning;
        delta.ids = {1, 2, 3};
        put(ReplyStreamed{replies.back().conversation, delta});
    }
    void progress(GenerationPhase phase, int64_t processed, int64_t total, double tokens_per_s) {
        GenerationProgress progress;
        progress.phase = phase;
        progress.processed_tokens = processed;
        progress.prompt_tokens = total;
        progress.tokens_per_s = tokens_per_s;
        put(ReplyProgressed{replies.back().conversation, progress});
    }
    void end_reply(const std::string& text, int64_t prompt_tokens, StopReason stop = StopReason::end_of_turn) {
        GenerationReport report;
        report.text = text;
        report.ids = {1, 2, 3};
        report.prompt_tokens = prompt_tokens;
        report.reused_tokens = prompt_tokens / 2;
        report.stop = stop;
        report.scheme = "f16";
        CacheState state;
        state.cache = replies.back().cache;
        state.tokens = prompt_tokens + 3;
        put(CacheMeasured{replies.back().conversation, state});
        put(ReplyEnded{replies.back().conversation, report});
    }
    void fail_reply(Error error) { put(ReplyEnded{replies.back().conversation, std::move(error)}); }
    void finish_change(KvChange change, int64_t tokens) {
        CacheState state;
        state.cache = changes.back().second;
        state.tokens = tokens;
        if (change.outcome == KvChangeOutcome::changed) put(CacheMeasured{changes.back().first, state});
        put(CacheChanged{changes.back().first, changes.back().second, std::move(change), tokens});
    }

    std::vector<ModelRequest> loads;
    std::vector<ReplyRequest> replies;
    std::vector<std::pair<std::string, CacheWish>> changes;
    std::vector<std::string> rebuilds;
    std::vector<std::string> closed;
    std::vector<std::string> counted;
    std::vector<TextCounted> held_counts;
    std::vector<RecallPlan> recalls;
    int stops = 0;
    int stopped_recalls = 0;
    int cancelled_loads = 0;
    bool loads_by_itself = true;
    bool counts_by_itself = true;
    MachineMemory memory;

  private:
    std::shared_ptr<const Model> model_;
    std::vector<EngineEvent> events_;
};

}  // namespace octavo::test
