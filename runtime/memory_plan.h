// Where the memory of a loaded model and its conversations goes: named lines, each with the bytes that the arithmetic
// says (logical) and the bytes that the system has given (committed).
//
// Threads: `memory_plan` reads a session, so it runs where the session does (Engine::call); the rest are pure.
// Non-goals: other processes and the interface; the window adds those lines itself.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "runtime/session.h"

namespace octavo {

enum class MemoryLineKind { weights, kv_cache, kv_copies, recurrent_state, checkpoints, workspace, draft };
std::string_view memory_line_name(MemoryLineKind kind);  // for people: "KV cache"

struct MemoryLine {
    MemoryLineKind kind = MemoryLineKind::weights;
    std::string_view where;  // "cpu", "gpu"
    int64_t logical_bytes = 0;
    int64_t committed_bytes = 0;
};

// Of one conversation as it is now. `workspace_bytes`: EngineInfo's, shared by all conversations like the weights.
std::vector<MemoryLine> memory_plan(const Model& model, const Session& session, int64_t workspace_bytes);

// Of one conversation that has grown to `tokens` with its checkpoint budget used up; logical equals committed but for
// the steps in which a KV cache grows. `place`: where the engine keeps it, EngineInfo's.
std::vector<MemoryLine> planned_memory(const Model& model, const SessionOptions& options, int64_t tokens,
                                       int64_t workspace_bytes, std::string_view place = "cpu");

// The longest conversation in `settings` that `free_bytes` hold, beside all that is needed at any length: weights,
// state, workspace, and the scheme's own FP16 copies. Whole steps of the cache; the model's context where that is less.
// Checkpoints are left out: they are thinned for lack of memory. 0: not even an empty one.
int64_t largest_context(const Model& model, SessionOptions options, const KvSettings& settings, int64_t workspace_bytes,
                        int64_t free_bytes);

int64_t total_committed_bytes(const std::vector<MemoryLine>& lines);

}  // namespace octavo
