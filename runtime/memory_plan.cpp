#include "runtime/memory_plan.h"

#include <algorithm>

namespace octavo {
namespace {

constexpr std::string_view cpu = "cpu";

MemoryLine exact(MemoryLineKind kind, std::string_view where, int64_t bytes) { return {kind, where, bytes, bytes}; }

MemoryLine weights_line(const Model& model, const EngineMemory& engine) {
    return exact(MemoryLineKind::weights, engine.place,
                 engine.weight_bytes > 0 ? engine.weight_bytes : model.weight_bytes);
}

// What does not depend on the conversation, after its own lines.
void add_engine(const Model& model, const EngineMemory& engine, std::vector<MemoryLine>& lines) {
    const auto add = [&](MemoryLineKind kind, std::string_view where, int64_t bytes) {
        if (bytes > 0) lines.push_back(exact(kind, where, bytes));
    };
    add(MemoryLineKind::experts, cpu, engine.host_expert_bytes);
    add(MemoryLineKind::workspace, engine.place, engine.workspace_bytes);
    add(MemoryLineKind::logits, cpu, int64_t{model.config.vocab} * static_cast<int64_t>(sizeof(float)));
    add(MemoryLineKind::scratch, engine.place, engine.scratch_bytes);
    add(MemoryLineKind::scratch, cpu, engine.host_scratch_bytes);
    add(MemoryLineKind::code, engine.place, engine.code_bytes);
    // Stays in the mapped file: pages that nobody reads take no memory.
    if (model.draft_bytes > 0) lines.push_back({MemoryLineKind::draft, "file", model.draft_bytes, 0});
}

int64_t round_up(int64_t bytes, int64_t step) { return (bytes + step - 1) / step * step; }

// In the cache's steps.
int64_t cache_bytes(const HybridConfig& config, const KvScheme& scheme, int64_t tokens, int64_t page_bytes) {
    const int64_t cells = std::min<int64_t>(round_up(tokens, KvCache::cells_per_step), config.context_length);
    return kv_pool_bytes(kv_shape(config), scheme, cells, page_bytes);
}

}  // namespace

std::string_view memory_line_name(MemoryLineKind kind) {
    switch (kind) {
        case MemoryLineKind::weights: return "weights";
        case MemoryLineKind::experts: return "experts";
        case MemoryLineKind::kv_cache: return "KV cache";
        case MemoryLineKind::kv_copies: return "FP16 window, sinks";
        case MemoryLineKind::recurrent_state: return "recurrent state";
        case MemoryLineKind::checkpoints: return "checkpoints";
        case MemoryLineKind::workspace: return "workspace";
        case MemoryLineKind::logits: return "logits";
        case MemoryLineKind::scratch: return "kernel scratch";
        case MemoryLineKind::code: return "kernel code";
        case MemoryLineKind::draft: return "draft block, unread";
    }
    return "";
}

bool is_of_conversation(MemoryLineKind kind) {
    switch (kind) {
        case MemoryLineKind::kv_cache:
        case MemoryLineKind::kv_copies:
        case MemoryLineKind::recurrent_state:
        case MemoryLineKind::checkpoints: return true;
        case MemoryLineKind::weights:
        case MemoryLineKind::experts:
        case MemoryLineKind::workspace:
        case MemoryLineKind::logits:
        case MemoryLineKind::scratch:
        case MemoryLineKind::code:
        case MemoryLineKind::draft: return false;
    }
    return false;
}

std::vector<MemoryLine> memory_plan(const Model& model, const Session& session, const EngineMemory& engine) {
    const KvCache& cache = session.cache();
    std::vector<MemoryLine> lines = {
        weights_line(model, engine),
        {MemoryLineKind::kv_cache, engine.place, session.position() * cache.bytes_per_token(), cache.committed_bytes()},
        exact(MemoryLineKind::kv_copies, engine.place, cache.copy_buffer_bytes()),
        exact(MemoryLineKind::recurrent_state, engine.place, session.recurrent_bytes()),
        exact(MemoryLineKind::checkpoints, cpu, session.checkpoints().bytes()),
    };
    add_engine(model, engine, lines);
    if (engine.device_expert_bytes > 0)
        lines.push_back(exact(MemoryLineKind::experts, engine.place, engine.device_expert_bytes));
    return lines;
}

std::vector<MemoryLine> planned_memory(const Model& model, const SessionOptions& options, int64_t tokens,
                                       const EngineMemory& engine) {
    const KvShape shape = kv_shape(model.config);
    const KvScheme& scheme = options.kv.scheme;
    std::vector<MemoryLine> lines = {
        weights_line(model, engine),
        {MemoryLineKind::kv_cache, engine.place, tokens * kv_bytes_per_token(shape, scheme),
         cache_bytes(model.config, scheme, tokens, engine.page_bytes)},
        exact(MemoryLineKind::kv_copies, engine.place,
              kv_overlay_bytes(shape, options.kv) + kv_open_group_bytes(shape, scheme)),
        exact(MemoryLineKind::recurrent_state, engine.place, RecurrentState::bytes_of(model.config)),
        exact(MemoryLineKind::checkpoints, cpu, options.checkpoint_budget_bytes),
    };
    add_engine(model, engine, lines);
    return lines;
}

int64_t largest_context(const Model& model, SessionOptions options, const KvSettings& settings,
                        const EngineMemory& engine, int64_t free_bytes) {
    options.kv = settings;
    options.checkpoint_budget_bytes = 0;
    const auto fits = [&](int64_t tokens) {
        return committed_bytes_at(engine.place, planned_memory(model, options, tokens, engine)) <= free_bytes;
    };
    const int64_t longest = model.config.context_length;
    if (fits(longest)) return longest;
    if (!fits(0)) return 0;
    int64_t fitting = 0;  // steps of the cache
    int64_t too_many = longest / KvCache::cells_per_step + 1;
    while (too_many - fitting > 1) {
        const int64_t middle = fitting + (too_many - fitting) / 2;
        (fits(middle * KvCache::cells_per_step) ? fitting : too_many) = middle;
    }
    return fitting * KvCache::cells_per_step;
}

int64_t total_committed_bytes(const std::vector<MemoryLine>& lines) {
    int64_t bytes = 0;
    for (const MemoryLine& line : lines) bytes += line.committed_bytes;
    return bytes;
}

int64_t committed_bytes_at(std::string_view place, const std::vector<MemoryLine>& lines) {
    int64_t bytes = 0;
    for (const MemoryLine& line : lines) bytes += line.where == place ? line.committed_bytes : 0;
    return bytes;
}

}  // namespace octavo
