#include "runtime/kv/kv_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "kernels/base/memory_error.h"

namespace octavo {
namespace {

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

Result<KvCache> KvCache::create(const KvShape& shape, const KvScheme& scheme, int64_t max_cells) {
    static constexpr const char* names[part_count] = {"K cache", "K scales", "V cache", "V scales"};
    for (const KvFormat format : {scheme.k, scheme.v}) {
        if (kv_format_spec(format).raw()) continue;
        return Error{ErrorKind::usage, fmt::format("The KV format {} cannot be used in a conversation yet.",
                                                   kv_format_spec(format).name)};
    }
    KvCache cache;
    cache.shape_ = shape;
    cache.scheme_ = scheme;
    cache.max_cells_ = max_cells;
    const KvCellBytes bytes = kv_cell_bytes(shape, scheme);
    cache.cell_bytes_ = {bytes.k_payload, bytes.k_scales, bytes.v_payload, bytes.v_scales};
    if (max_cells <= 0 || max_cells > std::numeric_limits<int64_t>::max() / std::max<int64_t>(1, bytes.total())) {
        return Error{ErrorKind::usage, fmt::format("A KV cache of {} tokens cannot be made.", max_cells)};
    }
    cache.layers_.resize(shape.layers);
    for (Layer& layer : cache.layers_) {
        for (int part = 0; part < part_count; ++part) {
            const auto reserved = static_cast<size_t>(max_cells * cache.cell_bytes_[part]);
            if (reserved == 0) continue;
            Result<ReservedRange> range = ReservedRange::reserve(reserved, names[part]);
            if (!range) return range.error();
            layer[part] = std::move(*range);
        }
    }
    return cache;
}

Status KvCache::commit(int64_t cells) {
    if (cells <= committed_cells_) return {};
    if (cells > max_cells_) {
        return Error{ErrorKind::context_full,
                     fmt::format("The KV cache was asked for {} tokens and can hold {}.", cells, max_cells_)};
    }
    const int64_t wanted_cells = std::min(round_up(cells, cells_per_step), max_cells_);
    const int64_t wanted_bytes = (wanted_cells - committed_cells_) * bytes_per_token();
    // The system grants pages that it does not have and ends the process later: so ask first, for all pools at once.
    const size_t free_bytes = available_memory_bytes();
    if (free_bytes > 0 && static_cast<size_t>(wanted_bytes) > free_bytes) {
        return not_enough_memory(fmt::format("the KV cache of {} tokens", wanted_cells).c_str(),
                                 static_cast<size_t>(wanted_bytes), free_bytes);
    }
    Status status = commit_exactly(wanted_cells);
    if (!status) {
        (void)commit_exactly(committed_cells_);  // giving pages back cannot fail
        return status;
    }
    committed_cells_ = wanted_cells;
    return {};
}

void KvCache::shrink(int64_t cells) {
    const int64_t kept_cells = std::min(round_up(std::max<int64_t>(cells, 0), cells_per_step), max_cells_);
    if (kept_cells >= committed_cells_) return;
    if (commit_exactly(kept_cells)) committed_cells_ = kept_cells;
}

Status KvCache::commit_exactly(int64_t cells) {
    for (Layer& layer : layers_) {
        for (int part = 0; part < part_count; ++part) {
            if (cell_bytes_[part] == 0) continue;
            Status status = layer[part].commit(static_cast<size_t>(cells * cell_bytes_[part]));
            if (!status) return status;
        }
    }
    return {};
}

int64_t KvCache::committed_bytes() const {
    int64_t bytes = 0;
    for (const Layer& layer : layers_) {
        for (const ReservedRange& range : layer) bytes += static_cast<int64_t>(range.committed_bytes());
    }
    return bytes;
}

KvView KvCache::view(int layer) const {
    assert(layer >= 0 && layer < shape_.layers);
    const Layer& ranges = layers_[layer];
    KvView view;
    view.kv_heads = shape_.kv_heads;
    view.head_dim = shape_.head_dim;
    view.k.format = scheme_.k;
    view.k.payload = ranges[k_payload].data();
    view.k.scales = ranges[k_scales].data();
    view.v.format = scheme_.v;
    view.v.payload = ranges[v_payload].data();
    view.v.scales = ranges[v_scales].data();
    return view;
}

}  // namespace octavo
