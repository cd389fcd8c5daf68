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

enum class MemoryLineKind {
    weights,
    experts,
    kv_cache,
    kv_copies,
    recurrent_state,
    checkpoints,
    workspace,
    logits,
    scratch,
    code,
    draft
};
std::string_view memory_line_name(MemoryLineKind kind);  // for people: "KV cache"
bool is_of_conversation(MemoryLineKind kind);            // else it is shared by all of an engine's

// What an engine takes whatever its conversations hold; EngineInfo says it.
struct EngineMemory {
    std::string_view place = "cpu";  // where weights, cache and state are: "cpu", "gpu"
    int64_t page_bytes = 1;          // what a pool of the cache grows by
    int64_t weight_bytes = 0;        // of their copy on a device; 0: none, the model's own
    // Experts that a device takes in while nobody else wants the room, and those that it leaves in ordinary memory.
    int64_t device_expert_bytes = 0;
    int64_t host_expert_bytes = 0;
    int64_t workspace_bytes = 0;
    int64_t scratch_bytes = 0;
    int64_t host_scratch_bytes = 0;  // of ordinary memory, for what travels between a device and the CPU
    int64_t code_bytes = 0;          // of kernels on a GPU
};

struct MemoryLine {
    MemoryLineKind kind = MemoryLineKind::weights;
    std::string_view where;  // "cpu", "gpu"
    int64_t logical_bytes = 0;
    int64_t committed_bytes = 0;
};

// Of one conversation as it is now. `engine` is shared by all conversations, like the weights.
std::vector<MemoryLine> memory_plan(const Model& model, const Session& session, const EngineMemory& engine);

// Of one conversation that has grown to `tokens` with its checkpoint budget used up; logical equals committed but for
// the steps in which a KV cache grows. Without what a device holds only while nobody else wants the room.
std::vector<MemoryLine> planned_memory(const Model& model, const SessionOptions& options, int64_t tokens,
                                       const EngineMemory& engine);

// The longest conversation in `settings` that `free_bytes` of the engine's place hold, beside all that is needed at any
// length: weights, state, workspace, and the scheme's own FP16 copies. Whole steps of the cache; the model's context
// where that is less. Checkpoints are left out: they are thinned for lack of memory. 0: not even an empty one.
int64_t largest_context(const Model& model, SessionOptions options, const KvSettings& settings,
                        const EngineMemory& engine, int64_t free_bytes);

int64_t total_committed_bytes(const std::vector<MemoryLine>& lines);
int64_t committed_bytes_at(std::string_view place, const std::vector<MemoryLine>& lines);

}  // namespace octavo
