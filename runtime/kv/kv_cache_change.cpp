// Live changes of a cache's settings. Either the whole cache is changed or the old one is kept; only where the machine
// has no room for both is the old one given up layer by layer, and then a change that does not end leaves nothing.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/kv/kv_cache.h"

namespace octavo {
namespace {

constexpr int64_t kBlockCells = 512;  // of one step; a multiple of a group

int64_t row_floats(const KvShape& shape) { return int64_t{shape.kv_heads} * shape.head_dim; }

Result<Buffer> conversion_scratch(const KvShape& shape, Memory& memory) {
    const auto floats = static_cast<size_t>(2 * kBlockCells * row_floats(shape));
    return memory.allocate(floats * sizeof(float), "the conversion of the KV cache");
}

// k and v rows of a block in the scratch.
KvRows block_rows(const KvView& view, int64_t first, int64_t cells, const KvShape& shape, std::byte* scratch) {
    float* k = reinterpret_cast<float*>(scratch);
    return {view, first, static_cast<int>(cells), k, k + kBlockCells * row_floats(shape)};
}

Error dropped(const std::string& reason) {
    return {ErrorKind::cancelled, fmt::format("{} The old KV cache had been given up for room; the text must be read "
                                              "again.",
                                              reason)};
}

}  // namespace

KvCache::Exact KvCache::exact_after(const KvSettings& wanted, int64_t cells) const {
    if (scheme().raw() || cells == 0) return {0, wanted.sinks};
    Exact exact;
    exact.window_from = std::max({exact_.window_from, cells - settings_.window, int64_t{0}});
    exact.sinks = cells <= exact_.sinks ? wanted.sinks : std::min(wanted.sinks, exact_.sinks);
    return exact;
}

KvChange KvCache::change(const KvSettings& wanted, int64_t cells, Backend& backend, Job& job, KvChangeRoom room) {
    if (wanted == settings_) return {};
    const auto keep = [](Error error) { return KvChange{KvChangeOutcome::kept_old, std::move(error), 0}; };
    if (Status status = check_kv_settings(wanted, shape_, max_cells_); !status) return keep(status.error());
    const bool same_bulk = wanted.scheme == scheme() && wanted.rotates_k() == settings_.rotates_k() &&
                           wanted.rotates_v() == settings_.rotates_v();
    if (same_bulk) return change_overlay(wanted, cells, backend);

    Result<KvCache> fresh = create(shape_, wanted, max_cells_, *memory_);
    if (!fresh) return keep(fresh.error());
    Result<Buffer> scratch = conversion_scratch(shape_, *memory_);
    if (!scratch) return keep(scratch.error());
    fresh->exact_ = exact_after(wanted, cells);
    if (room == KvChangeRoom::automatic) {
        const size_t free_bytes = memory_->free_bytes();
        const auto new_bytes = static_cast<size_t>(fresh->bytes_per_token() * committed_cells_);
        room = free_bytes == 0 || new_bytes < free_bytes ? KvChangeRoom::keep_old : KvChangeRoom::release_old;
    }
    for (int layer = 0; layer < shape_.layers; ++layer) {
        std::optional<Error> error;
        if (job.cancelled()) {
            error = Error{ErrorKind::cancelled, "The change of the KV cache was cancelled."};
        } else if (Status status = fresh->commit_layer(fresh->layers_[static_cast<size_t>(layer)], committed_cells_);
                   !status) {
            error = status.error();
        } else if (Status status = convert_layer(layer, *fresh, cells, backend, scratch->data()); !status) {
            error = status.error();
        }
        if (error) {
            if (room == KvChangeRoom::keep_old || layer == 0) return keep(*error);
            shrink(0);
            return {KvChangeOutcome::lost, dropped(error->message), 0};
        }
        if (room == KvChangeRoom::release_old) (void)commit_layer(layers_[static_cast<size_t>(layer)], 0);
        job.report(layer + 1, shape_.layers);
    }
    fresh->committed_cells_ = committed_cells_;
    fresh->generation_ = generation_ + 1;
    const auto lossless = [](KvFormat format) { return format == KvFormat::f32 || format == KvFormat::f16; };
    const int64_t exact_from = lossless(scheme().k) && lossless(scheme().v) ? 0 : fresh->exact_.window_from;
    *this = std::move(*fresh);
    return {KvChangeOutcome::changed, std::nullopt, exact_from};
}

// Only the window, the sinks or the encoder change: the bulk stays where it is.
KvChange KvCache::change_overlay(const KvSettings& wanted, int64_t cells, Backend& backend) {
    const auto keep = [](Error error) { return KvChange{KvChangeOutcome::kept_old, std::move(error), 0}; };
    Result<Buffer> scratch = conversion_scratch(shape_, *memory_);
    if (!scratch) return keep(scratch.error());
    const Exact exact = exact_after(wanted, cells);
    std::vector<Copies> all;
    for (const Layer& layer : layers_) {
        Result<Copies> copies = make_copies(wanted);
        if (!copies) return keep(copies.error());
        const KvView old_view = view(layer);
        KvView new_view = old_view;
        new_view.overlay = {};
        new_view.k.open = copies->open_k.as<f16_bits>();
        new_view.v.open = copies->open_v.as<f16_bits>();
        const auto half = [](const Buffer& b) { return reinterpret_cast<f16_bits*>(b.data() + b.bytes() / 2); };
        new_view.overlay.sinks = exact.sinks;
        new_view.overlay.window = wanted.window;
        new_view.overlay.sink_k = copies->sinks.as<f16_bits>();
        new_view.overlay.sink_v = wanted.sinks > 0 ? half(copies->sinks) : nullptr;
        new_view.overlay.ring_k = copies->ring.as<f16_bits>();
        new_view.overlay.ring_v = wanted.window > 0 ? half(copies->ring) : nullptr;
        // Only the sinks and the newest cells have copies; older ones pass through the ring and are overwritten.
        const int64_t newest = std::max({wanted.window, int64_t{kKvGroupCells}});
        const auto copy = [&](int64_t first, int64_t end) {
            for (; first < end; first += kBlockCells) {
                const int64_t count = std::min(kBlockCells, end - first);
                backend.kv_load(block_rows(old_view, first, count, shape_, scratch->data()), cells - 1);
                backend.kv_overlay(block_rows(new_view, first, count, shape_, scratch->data()));
            }
        };
        const int64_t from = std::max<int64_t>(0, cells - newest);
        copy(0, std::min(exact.sinks, from));
        copy(from, cells);
        all.push_back(std::move(*copies));
    }
    for (size_t layer = 0; layer < layers_.size(); ++layer) layers_[layer].copies = std::move(all[layer]);
    settings_ = wanted;
    exact_ = exact;
    ++generation_;
    return {KvChangeOutcome::changed, std::nullopt, exact.window_from};
}

Status KvCache::convert_layer(int layer, KvCache& to, int64_t cells, Backend& backend, std::byte* scratch) const {
    const Error does_not_fit{ErrorKind::input, fmt::format("Values of attention layer {} do not fit into {}.", layer,
                                                           kv_scheme_name(to.scheme()))};
    const Layer& from_layer = layers_[static_cast<size_t>(layer)];
    const Layer& to_layer = to.layers_[static_cast<size_t>(layer)];
    const KvView from_view = view(from_layer);
    const KvView to_view = to.view(to_layer);
    // A rotation is its own inverse: where one side rotates and the other does not, one more turns one into the other.
    KvView turn = from_view;
    turn.k.rotate = from_view.k.rotate != to_view.k.rotate;
    turn.v.rotate = from_view.v.rotate != to_view.v.rotate;
    turn.v_scale = nullptr;
    const auto same = [](const KvSide& a, const KvSide& b) { return a.format == b.format && a.rotate == b.rotate; };
    const bool same_k = same(from_view.k, to_view.k);
    const bool same_v = same(from_view.v, to_view.v);
    for (int64_t first = 0; first < cells; first += kBlockCells) {
        const int64_t count = std::min(kBlockCells, cells - first);
        backend.kv_load(block_rows(from_view, first, count, shape_, scratch), cells - 1);
        backend.kv_basis(block_rows(turn, first, count, shape_, scratch), nullptr, 0);
        KvRows rows = block_rows(to_view, first, count, shape_, scratch);
        backend.kv_overlay(rows);
        // Bytes that mean the same are copied, so that a change of one side costs the other nothing.
        for (int part = 0; part < part_count; ++part) {
            const bool copied = part == k_payload || part == k_scales ? same_k : same_v;
            if (!copied || cell_bytes_[part] == 0) continue;
            const int64_t offset = first * cell_bytes_[part];
            memory_->copy(to_layer.pools[part]->data() + offset, from_layer.pools[part]->data() + offset,
                          static_cast<size_t>(count * cell_bytes_[part]));
        }
        if (same_k) rows.k = nullptr;
        if (same_v) rows.v = nullptr;
        // Blocks begin where groups begin, so a per-channel group that a block completes lies wholly in it.
        if (!backend.kv_store(rows)) return does_not_fit;
    }
    if (Status status = backend.finish(); !status) {
        return status.error().kind == ErrorKind::input ? does_not_fit : status;
    }
    return {};
}

Status KvCache::rebuild_copies(int64_t cells, int64_t held, Backend& backend) {
    const int64_t group = cells / kKvGroupCells * kKvGroupCells;
    const auto floats = static_cast<size_t>(2 * kKvGroupCells * row_floats(shape_));
    Result<Buffer> rows = memory_->allocate(floats * sizeof(float), "the open groups");
    if (!rows) return rows.error();
    for (const Layer& layer : layers_) {
        KvView from = view(layer);
        if (cells == group || (from.k.open == nullptr && from.v.open == nullptr)) continue;
        KvRows open{from, group, static_cast<int>(cells - group), rows->as<float>(), rows->as<float>() + floats / 2};
        backend.kv_load(open, held - 1);
        open.cache.overlay = {};
        backend.kv_overlay(open);
    }
    exact_ = {cells, cells <= exact_.sinks ? settings_.sinks : exact_.sinks};
    return {};
}

}  // namespace octavo
