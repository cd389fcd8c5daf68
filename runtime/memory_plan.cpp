#include "runtime/memory_plan.h"

#include <algorithm>

namespace octavo {
namespace {

constexpr std::string_view cpu = "cpu";

MemoryLine exact(MemoryLineKind kind, std::string_view where, int64_t bytes) { return {kind, where, bytes, bytes}; }

// Stays in the mapped file: pages that nobody reads take no memory.
void add_draft(const Model& model, std::vector<MemoryLine>& lines) {
    if (model.draft_bytes > 0) lines.push_back({MemoryLineKind::draft, "file", model.draft_bytes, 0});
}

int64_t logit_bytes(const Model& model) { return int64_t{model.config.vocab} * static_cast<int64_t>(sizeof(float)); }

}  // namespace

std::string_view memory_line_name(MemoryLineKind kind) {
    switch (kind) {
        case MemoryLineKind::weights: return "weights";
        case MemoryLineKind::kv_cache: return "KV cache";
        case MemoryLineKind::kv_copies: return "KV cache, FP16 window and sinks";
        case MemoryLineKind::recurrent_state: return "recurrent state";
        case MemoryLineKind::checkpoints: return "checkpoints";
        case MemoryLineKind::workspace: return "workspace";
        case MemoryLineKind::draft: return "draft (MTP) block, not read";
    }
    return "";
}

std::vector<MemoryLine> memory_plan(const Model& model, const Session& session, int64_t workspace_bytes) {
    const KvCache& cache = session.cache();
    const std::string_view place = cache.place();
    std::vector<MemoryLine> lines = {
        exact(MemoryLineKind::weights, place, model.weight_bytes),
        {MemoryLineKind::kv_cache, place, session.position() * cache.bytes_per_token(), cache.committed_bytes()},
        exact(MemoryLineKind::kv_copies, place, cache.copy_buffer_bytes()),
        exact(MemoryLineKind::recurrent_state, place, session.recurrent_bytes()),
        exact(MemoryLineKind::checkpoints, cpu, session.checkpoints().bytes()),
        exact(MemoryLineKind::workspace, place, workspace_bytes + logit_bytes(model)),
    };
    add_draft(model, lines);
    return lines;
}

std::vector<MemoryLine> planned_memory(const Model& model, const SessionOptions& options, int64_t tokens,
                                       int64_t workspace_bytes, std::string_view place) {
    const KvShape shape = kv_shape(model.config);
    const int64_t per_token = kv_bytes_per_token(shape, options.kv.scheme);
    constexpr int64_t step = KvCache::cells_per_step;
    const int64_t cells = std::min<int64_t>((tokens + step - 1) / step * step, model.config.context_length);
    std::vector<MemoryLine> lines = {
        exact(MemoryLineKind::weights, place, model.weight_bytes),
        {MemoryLineKind::kv_cache, place, tokens * per_token, cells * per_token},
        exact(MemoryLineKind::kv_copies, place,
              kv_overlay_bytes(shape, options.kv) + kv_open_group_bytes(shape, options.kv.scheme)),
        exact(MemoryLineKind::recurrent_state, place, RecurrentState::bytes_of(model.config)),
        exact(MemoryLineKind::checkpoints, cpu, options.checkpoint_budget_bytes),
        exact(MemoryLineKind::workspace, place, workspace_bytes + logit_bytes(model)),
    };
    add_draft(model, lines);
    return lines;
}

int64_t largest_context(const Model& model, SessionOptions options, const KvSettings& settings, int64_t workspace_bytes,
                        int64_t free_bytes) {
    options.kv = settings;
    options.checkpoint_budget_bytes = 0;
    const int64_t fixed = total_committed_bytes(planned_memory(model, options, 0, workspace_bytes));
    if (fixed > free_bytes) return 0;
    const KvShape shape = kv_shape(model.config);
    const int64_t longest = model.config.context_length;
    if (kv_bytes_per_token(shape, settings.scheme) == 0) return longest;  // no full attention
    const int64_t fits = kv_tokens_in(free_bytes - fixed, shape, settings.scheme);
    return fits >= longest ? longest : fits / KvCache::cells_per_step * KvCache::cells_per_step;
}

int64_t total_committed_bytes(const std::vector<MemoryLine>& lines) {
    int64_t bytes = 0;
    for (const MemoryLine& line : lines) bytes += line.committed_bytes;
    return bytes;
}

}  // namespace octavo
