// What KV settings cost on this machine: the rows of the scheme list, the price of a choice that is not applied yet,
// and the lines of the memory bar. Pure arithmetic over what is known of the model and the machine.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "app/desktop/engine_port.h"
#include "ui/state/kv_state.h"

namespace octavo {

// Everything that a price depends on.
struct KvSituation {
    const Model* model = nullptr;
    EngineInfo info;
    CacheState now;  // of the conversation that is shown; no lines where the engine holds nothing of it yet
    MachineMemory machine;
    int64_t headroom_bytes = 0;  // left to other programs
    int64_t checkpoint_budget_bytes = SessionOptions{}.checkpoint_budget_bytes;
};

// Bytes that the model and this conversation may take altogether: what is free and what they hold, less the headroom.
// Weights are pages of a file, which the system counts as free. On a GPU: what was free there before the engine
// started, within --gpu-budget, less what other conversations hold.
int64_t memory_budget(const KvSituation& situation);

// The schemes of the menu, each with its usual window and sinks.
std::vector<KvSchemeRow> price_schemes(const KvSituation& situation);

// A choice that does not fit says so with the bytes wanted and free, unless it takes less than what is there.
KvPrice price_choice(const KvSituation& situation, const KvChoice& choice);

// Planned for a full context beside what is measured now.
std::vector<MemoryLineState> memory_lines(const KvSituation& situation);

// The longest context, in whole steps, that a new conversation can have in `settings`.
int64_t fitting_context(const KvSituation& situation, const KvSettings& settings);

}  // namespace octavo
