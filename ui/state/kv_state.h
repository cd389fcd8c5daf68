// The KV cache / VRAM panel: how the cache is stored, what each way would cost, where the memory is.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kv/kv_settings.h"

namespace octavo {

// Measured classes, best first; how they are measured is the business of who fills the rows.
enum class KvErrorClass { exact, very_low, low, medium, high, unknown };
enum class KvSpeedClass { fast, medium, slow, unknown };

struct KvSchemeRow {
    KvScheme scheme = {};
    std::string name = {};
    std::string text = {};  // one line for a person
    int64_t bytes_per_token = 0;
    int64_t largest_context = 0;  // tokens that fit into what is free, at most the model's limit
    KvErrorClass error = KvErrorClass::unknown;
    KvSpeedClass speed = KvSpeedClass::unknown;
    std::string unavailable = {};  // why it cannot be chosen; empty: it can
};

// What a person can set here.
struct KvChoice {
    KvSettings settings = {};
    KvEqualise equalise = KvEqualise::off;
    int64_t context_tokens = 0;

    bool operator==(const KvChoice&) const = default;
};

// A choice that is not applied yet, and what it would cost.
struct KvPrice {
    KvChoice choice = {};
    int64_t bytes_per_token = 0;
    int64_t bytes_now = 0;     // of the cache as it is
    int64_t bytes_after = 0;   // with the conversation as long as it is
    int64_t bytes_full = 0;    // with the context full
    int64_t bytes_needed = 0;  // at most, while it changes
    bool fits = true;
    bool reloads = false;       // the model must be loaded again and the text read again
    std::string sentence = {};  // what happens, or why it cannot
};

struct MemoryLineState {
    std::string name = {};   // "KV cache"
    std::string where = {};  // "cpu", "cuda"
    int64_t planned_bytes = 0;
    int64_t measured_bytes = 0;
    int kind = 0;  // a colour of the bar; the same for the same kind of line
};

// How much of the GPU's memory the program may take.
struct GpuBudgetState {
    bool available = false;  // there is a GPU, and it may be used
    int64_t bytes = 0;       // 0: what is free
    int64_t most_bytes = 0;
    bool applied = true;       // what is loaded keeps to it
    std::string refusal = {};  // why the model is not on the GPU; empty: it is, or was not to be
};

struct KvState {
    GpuBudgetState gpu_budget = {};
    bool available = false;  // a model is loaded
    std::vector<KvSchemeRow> rows = {};
    KvChoice applied = {};
    int64_t bytes_per_token = 0;
    int64_t used_tokens = 0;
    int64_t context_limit = 0;  // the model's
    int64_t window_limit = 0;
    std::optional<KvPrice> price = {};  // answers the last PriceKv
    bool changing = false;
    int64_t changed_layers = 0;
    int64_t total_layers = 0;
    int64_t exact_from = 0;  // tokens before it keep the error of an older scheme
    std::string error = {};

    std::vector<MemoryLineState> plan = {};
    std::string memory_name = {};  // "GPU memory", "memory"
    int64_t memory_total_bytes = 0;
    int64_t memory_free_bytes = 0;
    int64_t other_bytes = 0;  // other processes
    int64_t headroom_bytes = 0;
};

}  // namespace octavo
