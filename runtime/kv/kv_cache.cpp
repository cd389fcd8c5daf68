#include "runtime/kv/kv_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace octavo {
namespace {

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

Result<KvCache> KvCache::create(const KvShape& shape, const KvSettings& settings, int64_t max_cells, Memory& memory) {
    KvCache cache;
    cache.memory_ = &memory;
    cache.shape_ = shape;
    cache.settings_ = settings;
    cache.max_cells_ = max_cells;
    cache.exact_ = {0, settings.sinks};
    const KvCellBytes bytes = kv_cell_bytes(shape, settings.scheme);
    cache.cell_bytes_ = {bytes.k_payload, bytes.k_scales, bytes.v_payload, bytes.v_scales};
    if (max_cells <= 0 || max_cells > std::numeric_limits<int64_t>::max() / std::max<int64_t>(1, bytes.total())) {
        return Error{ErrorKind::usage, fmt::format("A KV cache of {} tokens cannot be made.", max_cells)};
    }
    cache.layers_.resize(static_cast<size_t>(shape.layers));
    if (Status status = cache.reserve_pools(); !status) return status.error();
    for (Layer& layer : cache.layers_) {
        Result<Copies> copies = cache.make_copies(settings);
        if (!copies) return copies.error();
        layer.copies = std::move(*copies);
    }
    return cache;
}

Status KvCache::reserve_pools() {
    static constexpr const char* names[part_count] = {"K cache", "K scales", "V cache", "V scales"};
    for (Layer& layer : layers_) {
        for (int part = 0; part < part_count; ++part) {
            const auto reserved = static_cast<size_t>(max_cells_ * cell_bytes_[part]);
            if (reserved == 0) continue;
            Result<std::unique_ptr<GrowableRange>> range = memory_->reserve(reserved, names[part]);
            if (!range) return range.error();
            layer.pools[part] = std::move(*range);
        }
    }
    return {};
}

Result<KvCache::Copies> KvCache::make_copies(const KvSettings& settings) const {
    const size_t cell_bytes = static_cast<size_t>(shape_.kv_heads) * shape_.head_dim * sizeof(f16_bits);
    const auto per_channel = [](KvFormat format) { return kv_format_spec(format).per_channel(); };
    struct Wanted {
        Buffer Copies::*buffer;
        size_t cells;
        const char* name;
    };
    Copies copies;
    for (const Wanted& wanted : {
             Wanted{&Copies::open_k, per_channel(settings.scheme.k) ? size_t{kKvGroupCells} : 0, "the open group of K"},
             Wanted{&Copies::open_v, per_channel(settings.scheme.v) ? size_t{kKvGroupCells} : 0, "the open group of V"},
             Wanted{&Copies::sinks, 2 * static_cast<size_t>(settings.sinks), "the FP16 sinks"},
             Wanted{&Copies::ring, 2 * static_cast<size_t>(settings.window), "the FP16 window"},
         }) {
        if (wanted.cells == 0) continue;
        Result<Buffer> buffer = memory_->allocate(wanted.cells * cell_bytes, wanted.name);
        if (!buffer) return buffer.error();
        copies.*wanted.buffer = std::move(*buffer);
    }
    return copies;
}

Status KvCache::commit(int64_t cells) {
    if (cells <= committed_cells_) return {};
    if (cells > max_cells_) {
        return Error{ErrorKind::context_full,
                     fmt::format("The KV cache was asked for {} tokens and can hold {}.", cells, max_cells_)};
    }
    const int64_t wanted_cells = std::min(round_up(cells, cells_per_step), max_cells_);
    const int64_t wanted_bytes =
        kv_pool_bytes(shape_, settings_.scheme, wanted_cells, static_cast<int64_t>(memory_->page_bytes())) -
        committed_bytes();
    // The system grants pages that it does not have and ends the process later: so ask first, for all pools at once.
    const std::string what = fmt::format("the KV cache of {} tokens", wanted_cells);
    if (Status status = memory_->room_for(static_cast<size_t>(std::max<int64_t>(wanted_bytes, 0)), what.c_str());
        !status) {
        return status;
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

Status KvCache::commit_layer(Layer& layer, int64_t cells) {
    for (int part = 0; part < part_count; ++part) {
        if (cell_bytes_[part] == 0) continue;
        Status status = layer.pools[part]->commit(static_cast<size_t>(cells * cell_bytes_[part]));
        if (!status) return status;
    }
    return {};
}

Status KvCache::commit_exactly(int64_t cells) {
    for (Layer& layer : layers_) {
        if (Status status = commit_layer(layer, cells); !status) return status;
    }
    return {};
}

int64_t KvCache::committed_bytes() const {
    int64_t bytes = 0;
    for (const Layer& layer : layers_) {
        for (const auto& pool : layer.pools) {
            if (pool != nullptr) bytes += static_cast<int64_t>(pool->committed_bytes());
        }
    }
    return bytes;
}

int64_t KvCache::copy_buffer_bytes() const {
    return kv_overlay_bytes(shape_, settings_) + kv_open_group_bytes(shape_, settings_.scheme);
}

KvView KvCache::view(int layer) const {
    assert(layer >= 0 && layer < shape_.layers);
    return view(layers_[static_cast<size_t>(layer)]);
}

KvView KvCache::view(const Layer& layer) const {
    const auto pool = [&](Part part) { return layer.pools[part] != nullptr ? layer.pools[part]->data() : nullptr; };
    const auto second_half = [](const Buffer& buffer) {
        return reinterpret_cast<f16_bits*>(buffer.data() + buffer.bytes() / 2);
    };
    const Copies& copies = layer.copies;
    KvView view;
    view.kv_heads = shape_.kv_heads;
    view.head_dim = shape_.head_dim;
    view.encoder = settings_.encoder;
    view.k = {settings_.scheme.k, settings_.rotates_k(), pool(k_payload), pool(k_scales), copies.open_k.as<f16_bits>()};
    view.v = {settings_.scheme.v, settings_.rotates_v(), pool(v_payload), pool(v_scales), copies.open_v.as<f16_bits>()};
    view.overlay.sinks = exact_.sinks;
    view.overlay.window = settings_.window;
    view.overlay.window_from = exact_.window_from;
    if (settings_.sinks > 0) {
        view.overlay.sink_k = copies.sinks.as<f16_bits>();
        view.overlay.sink_v = second_half(copies.sinks);
    }
    if (settings_.window > 0) {
        view.overlay.ring_k = copies.ring.as<f16_bits>();
        view.overlay.ring_v = second_half(copies.ring);
    }
    return view;
}

// visit(data, bytes) of the copies that a checkpoint holds. Sinks are not among them: what lies before a checkpoint
// does not change. Of a window that is not full yet, only the cells that are there.
template <class Visit>
void KvCache::visit_copies(int64_t cells, Visit visit) const {
    const size_t cell_bytes = static_cast<size_t>(shape_.kv_heads) * shape_.head_dim * sizeof(f16_bits);
    const size_t ring_bytes = static_cast<size_t>(std::min(cells, settings_.window)) * cell_bytes;
    for (const Layer& layer : layers_) {
        for (const Buffer* open : {&layer.copies.open_k, &layer.copies.open_v}) {
            if (open->bytes() > 0) visit(open->data(), open->bytes());
        }
        if (ring_bytes == 0) continue;
        const Buffer& ring = layer.copies.ring;
        visit(ring.data(), ring_bytes);
        visit(ring.data() + ring.bytes() / 2, ring_bytes);
    }
}

int64_t KvCache::copies_bytes(int64_t cells) const {
    if (scheme().raw()) return 0;
    size_t bytes = sizeof exact_;
    visit_copies(cells, [&](const std::byte*, size_t count) { bytes += count; });
    return static_cast<int64_t>(bytes);
}

void KvCache::save_copies(int64_t cells, std::byte* to) const {
    if (scheme().raw()) return;
    std::memcpy(to, &exact_, sizeof exact_);
    to += sizeof exact_;
    visit_copies(cells, [&](const std::byte* data, size_t count) {
        memory_->download(to, data, count);
        to += count;
    });
}

void KvCache::load_copies(int64_t cells, const std::byte* from) {
    if (scheme().raw()) return;
    std::memcpy(&exact_, from, sizeof exact_);
    from += sizeof exact_;
    visit_copies(cells, [&](std::byte* data, size_t count) {
        memory_->upload(data, from, count);
        from += count;
    });
}

void KvCache::forget_copies() { exact_ = {0, settings_.sinks}; }

}  // namespace octavo
