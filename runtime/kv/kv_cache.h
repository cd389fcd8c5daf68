// Keys and values of one conversation: per full-attention layer a K pool and a V pool, each with a payload and a scale
// array, and the FP16 copies beside them (window ring, sinks, open groups). Every pool array is one reserved address
// range, long enough for the largest context, with pages committed behind it as the conversation grows. So kernels see
// plain contiguous arrays, nothing is ever moved, and what is shown as committed is what the system has given.
//
// Threads: one thread at a time.
// Non-goals: knows no tokens and no recurrent state (see session.h); a cell that was cut off is simply written again.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/buffer.h"
#include "kernels/base/job.h"
#include "kernels/base/memory.h"
#include "runtime/kv/kv_settings.h"

namespace octavo {

enum class KvChangeOutcome {
    changed,
    kept_old,  // nothing happened; `error` says why
    lost,      // the old cache is gone and the new one is not there; the text must be read again
};

struct KvChange {
    KvChangeOutcome outcome = KvChangeOutcome::changed;
    std::optional<Error> error;
    // Cells from here on are held exactly as the new settings hold them; older ones keep the error of what they were
    // stored in before (the conversation's first sinks may be exact as well).
    int64_t exact_from = 0;
};

// Whether a change may need room for the old and the new cache at once.
enum class KvChangeRoom { automatic, keep_old, release_old };

class KvCache {
  public:
    // Pages are committed for this many cells at a time.
    static constexpr int64_t cells_per_step = 1024;

    // `max_cells`: what the address ranges are reserved for, the model's largest context. The settings have passed
    // check_kv_settings. `memory`: where it lives, the back end's; outlives the cache.
    static Result<KvCache> create(const KvShape& shape, const KvSettings& settings, int64_t max_cells, Memory& memory);

    const KvShape& shape() const { return shape_; }
    const KvSettings& settings() const { return settings_; }
    const KvScheme& scheme() const { return settings_.scheme; }
    int64_t max_cells() const { return max_cells_; }
    std::string_view place() const { return memory_->place(); }

    // Makes room for cells [0, cells). ErrorKind::context_full beyond max_cells, ErrorKind::memory (with the bytes
    // wanted and free) where the machine has no room; the cache is then as it was.
    Status commit(int64_t cells);
    // Gives back the pages that cells [0, cells) do not need.
    void shrink(int64_t cells);

    // Converts the first `cells` cells, layer by layer, to other settings (kv_cache_change.cpp). The basis of K and V
    // changes with the rotation; recurrent state is no concern. Bounded scratch, beside the new pools themselves.
    KvChange change(const KvSettings& wanted, int64_t cells, Backend& backend, Job& job,
                    KvChangeRoom room = KvChangeRoom::automatic);

    // The FP16 copies of a cache that holds `cells` cells, for a checkpoint. They fit only the settings that they were
    // made under.
    int64_t copies_bytes(int64_t cells) const;
    void save_copies(int64_t cells, std::byte* to) const;
    void load_copies(int64_t cells, const std::byte* from);
    // Counts changes of settings: copies saved under another number do not fit.
    int generation() const { return generation_; }
    // Back to `cells` of the `held` cells without fitting copies: open groups are read from the bulk, the window starts
    // anew. ErrorKind::memory for lack of a little scratch.
    Status rebuild_copies(int64_t cells, int64_t held, Backend& backend);
    // An empty cache: everything that comes will be exact.
    void forget_copies();

    int64_t committed_cells() const { return committed_cells_; }
    int64_t bytes_per_token() const { return kv_bytes_per_token(shape_, settings_.scheme); }
    int64_t committed_bytes() const;  // pools, as given by the system: whole pages
    int64_t copy_buffer_bytes() const;

    // Layer `layer` of the full-attention layers, counted from 0. Valid until the next change of settings or copies.
    KvView view(int layer) const;

  private:
    enum Part { k_payload, k_scales, v_payload, v_scales, part_count };
    // FP16 copies of one layer.
    struct Copies {
        Buffer open_k, open_v;  // [32][kv_heads][head_dim], per-channel sides only
        Buffer sinks;           // [2: k, v][sinks][kv_heads][head_dim]
        Buffer ring;            // [2: k, v][window][kv_heads][head_dim]
    };
    struct Layer {
        std::array<std::unique_ptr<GrowableRange>, part_count> pools;  // nullptr: the format has no such part
        Copies copies;
    };

    KvCache() = default;
    Status reserve_pools();
    Result<Copies> make_copies(const KvSettings& settings) const;
    Status commit_layer(Layer& layer, int64_t cells);
    Status commit_exactly(int64_t cells);
    KvView view(const Layer& layer) const;
    template <class Visit>
    void visit_copies(int64_t cells, Visit visit) const;

    // Cells that the FP16 copies under other settings can hold exactly, given what is exact now.
    struct Exact {
        int64_t window_from = 0;
        int64_t sinks = 0;
    };
    Exact exact_after(const KvSettings& wanted, int64_t cells) const;
    KvChange change_overlay(const KvSettings& wanted, int64_t cells, Backend& backend);
    Status convert_layer(int layer, KvCache& to, int64_t cells, Backend& backend, std::byte* scratch) const;

    KvShape shape_;
    KvSettings settings_;
    Memory* memory_ = nullptr;
    int64_t max_cells_ = 0;
    int64_t committed_cells_ = 0;
    int generation_ = 0;
    Exact exact_;
    std::array<int64_t, part_count> cell_bytes_{};
    std::vector<Layer> layers_;
};

}  // namespace octavo
