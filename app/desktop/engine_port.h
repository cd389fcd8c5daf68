// What the desktop asks of an engine, and what it is told. Commands are posted, events are taken: no call waits, so the
// interface never does. Behind it stands the real engine (real_engine.h) or a scripted one in tests.
//
// Threads: called by the interface's thread only.
// Non-goals: prices (runtime/memory_plan.h, pure) and conversations (the store's).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/base/job.h"
#include "kernels/base/memory_platform.h"
#include "runtime/engine.h"
#include "runtime/memory_plan.h"
#include "runtime/recall/recall_report.h"

namespace octavo {

struct ModelRequest {
    std::string path;  // a GGUF file or a folder; empty: the bundled model
    DeviceChoice device = DeviceChoice::automatic;
    int threads = 0;  // 0: one per physical core
    KvEqualise equalise = default_kv_equalise;
    int64_t gpu_budget_bytes = 0;  // most GPU memory to take; 0: what is free
};

// The KV cache and the context that a conversation is to have.
struct CacheWish {
    KvSettings kv;
    int64_t context_length = 0;  // tokens

    bool operator==(const CacheWish&) const = default;
};

struct ReplyRequest {
    std::string conversation;
    ChatPrompt prompt;
    std::vector<int32_t> begun;  // tokens that the reply already has: it goes on after them
    SamplerOptions sampler;
    int64_t max_tokens = 0;  // 0: until the reply or the context ends
    CacheWish cache;         // brought about first, where the conversation has another one
};

// A conversation's cache as it is.
struct CacheState {
    CacheWish cache;
    int64_t tokens = 0;  // held
    std::vector<MemoryLine> memory;
    int64_t other_conversations_bytes = 0;  // committed by the caches of others that are still held
};

// What an engine has to tell.
struct ModelLoading {
    std::string stage;  // "reading the file"
    Job::Progress bytes;
};
struct ModelLoaded {
    std::shared_ptr<const Model> model;
    EngineInfo info;
    std::vector<std::string> notes;
};
struct ModelFailed {
    Error error;
    bool former_kept = false;  // the model of before is still there
};
struct ReplyProgressed {
    std::string conversation;
    GenerationProgress progress;
};
struct ReplyStreamed {
    std::string conversation;
    GenerationDelta delta;
};
struct ReplyEnded {
    std::string conversation;
    Result<GenerationReport> report;
};
struct CacheMeasured {
    std::string conversation;
    CacheState state;
};
struct CacheProgressed {
    std::string conversation;
    Job::Progress layers;
};
struct CacheChanged {
    std::string conversation;
    CacheWish wanted;
    KvChange change;  // outcome, error and from which cell on it is exact; kept_old where only the context failed
    int64_t tokens = 0;
};
struct RebuildProgressed {
    std::string conversation;
    Job::Progress tokens;
};
struct RebuildEnded {
    std::string conversation;
    Result<PrefillReport> report;
};
struct TextCounted {
    uint64_t ticket = 0;
    Result<int64_t> tokens;
};

struct RecallProgressed {
    Job::Progress tokens;
    std::shared_ptr<const RecallReport> so_far;  // after each section; nullptr: nothing new
};
struct RecallEnded {
    Result<RecallReport> report;  // a stopped run is a report with what there is
};

using EngineEvent = std::variant<ModelLoading, ModelLoaded, ModelFailed, ReplyProgressed, ReplyStreamed, ReplyEnded,
                                 CacheMeasured, CacheProgressed, CacheChanged, RebuildProgressed, RebuildEnded,
                                 TextCounted, RecallProgressed, RecallEnded>;

class EnginePort {
  public:
    virtual ~EnginePort() = default;

    // Ends in ModelLoaded or ModelFailed. What runs on the former model is stopped first.
    virtual void load_model(ModelRequest request) = 0;
    virtual void cancel_load() = 0;

    // Ends in ReplyEnded; a stopped reply is a report with what there was.
    virtual void reply(ReplyRequest request) = 0;
    // Ends in CacheChanged. Waits its turn behind a reply.
    virtual void change_cache(std::string conversation, CacheWish wish) = 0;
    // Ends in RebuildEnded.
    virtual void rebuild(std::string conversation) = 0;
    // Replies, changes and rebuilds that run or wait.
    virtual void stop() = 0;
    // Forgets what is held of a conversation.
    virtual void close(std::string conversation) = 0;

    // Ends in TextCounted with the same ticket, beside whatever else runs.
    virtual void count_tokens(uint64_t ticket, std::string text) = 0;

    // Ends in RecallEnded. Runs beside replies, in steps.
    virtual void run_recall(RecallPlan plan) = 0;
    virtual void stop_recall() = 0;

    virtual std::vector<EngineEvent> take_events() = 0;
    virtual MachineMemory machine_memory() const = 0;
};

}  // namespace octavo
