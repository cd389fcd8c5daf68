// Copies of a conversation's recurrent state at chosen positions. A KV cache can be cut anywhere, a Gated DeltaNet
// state cannot be rewound: so a session that has to go back restores the nearest checkpoint and reads again from there.
//
// Under its byte budget the store keeps everything. Beyond it, it thins: the end of the system prompt and the newest
// few stay, and of the rest the one goes whose loss costs least, seen from the newest: spacing grows with age.
//
// Threads: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/buffer.h"

namespace octavo {

enum class CheckpointKind : uint8_t {
    interval,       // every so many tokens of a long prompt
    turn,           // where a message starts or ends
    reply,          // the end of a prompt, before the reply
    system_prompt,  // the end of the system prompt
};

struct Checkpoint {
    int64_t position = 0;  // tokens that the state has seen
    CheckpointKind kind = CheckpointKind::interval;
    Buffer state;           // RecurrentState::save, then KvCache::save_copies
    int kv_generation = 0;  // KvCache::generation when it was made
    Buffer logits;          // [vocab] float32 after token position - 1; empty where they were not computed

    int64_t bytes() const { return static_cast<int64_t>(state.bytes() + logits.bytes()); }
};

class CheckpointStore {
  public:
    // Checkpoints at the end that are never thinned while the budget holds that many.
    static constexpr int newest_kept = 4;

    explicit CheckpointStore(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

    // Replaces a checkpoint at the same position. One that is larger than the whole budget is not kept.
    void add(Checkpoint checkpoint);
    bool has_room_for(int64_t bytes) const { return bytes <= budget_bytes_; }

    // The checkpoint with the highest position <= `position`; nullptr: there is none, start from zero.
    const Checkpoint* nearest(int64_t position) const;
    const Checkpoint* at(int64_t position) const;
    // Drops every checkpoint behind `position`.
    void truncate(int64_t position);
    void clear() { truncate(-1); }

    int64_t budget_bytes() const { return budget_bytes_; }
    void set_budget(int64_t bytes);
    int64_t bytes() const { return bytes_; }
    const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }  // by position

  private:
    void thin();
    size_t least_useful() const;

    int64_t budget_bytes_;
    int64_t bytes_ = 0;
    std::vector<Checkpoint> checkpoints_;
};

}  // namespace octavo
