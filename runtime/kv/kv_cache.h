// Keys and values of one conversation: per full-attention layer a K pool and a V pool, each with a payload and a scale
// array. Every array is one reserved address range, long enough for the largest context, with pages committed behind
// it as the conversation grows. So kernels see plain contiguous arrays, nothing is ever moved, and what is shown as
// committed is what the system has given.
//
// Threads: one thread at a time.
// Non-goals: knows no tokens and no recurrent state (see session.h); a cell that was cut off is simply written again.
#pragma once

#include <array>
#include <vector>

#include "kernels/base/memory_platform.h"
#include "runtime/kv/kv_memory.h"

namespace octavo {

class KvCache {
  public:
    // Pages are committed for this many cells at a time.
    static constexpr int64_t cells_per_step = 1024;

    // `max_cells`: what the address ranges are reserved for, the model's largest context.
    static Result<KvCache> create(const KvShape& shape, const KvScheme& scheme, int64_t max_cells);

    const KvShape& shape() const { return shape_; }
    const KvScheme& scheme() const { return scheme_; }
    int64_t max_cells() const { return max_cells_; }

    // Makes room for cells [0, cells). ErrorKind::context_full beyond max_cells, ErrorKind::memory (with the bytes
    // wanted and free) where the machine has no room; the cache is then as it was.
    Status commit(int64_t cells);
    // Gives back the pages that cells [0, cells) do not need.
    void shrink(int64_t cells);

    int64_t committed_cells() const { return committed_cells_; }
    int64_t bytes_per_token() const { return kv_bytes_per_token(shape_, scheme_); }
    int64_t committed_bytes() const;  // as given by the system: whole pages

    // Layer `layer` of the full-attention layers, counted from 0.
    KvView view(int layer) const;

  private:
    enum Part { k_payload, k_scales, v_payload, v_scales, part_count };
    using Layer = std::array<ReservedRange, part_count>;

    KvCache() = default;
    Status commit_exactly(int64_t cells);

    KvShape shape_;
    KvScheme scheme_;
    int64_t max_cells_ = 0;
    int64_t committed_cells_ = 0;
    std::array<int64_t, part_count> cell_bytes_{};
    std::vector<Layer> layers_;
};

}  // namespace octavo
