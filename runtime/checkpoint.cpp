#include "runtime/checkpoint.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace octavo {
namespace {

// How much more a checkpoint is worth than one in the middle of nowhere: people go back to messages.
double worth(CheckpointKind kind) {
    switch (kind) {
        case CheckpointKind::interval: return 1;
        case CheckpointKind::turn: return 4;
        case CheckpointKind::reply: return 4;
        case CheckpointKind::system_prompt: return 1e6;
    }
    return 1;
}

bool before(const Checkpoint& checkpoint, int64_t position) { return checkpoint.position < position; }

}  // namespace

void CheckpointStore::add(Checkpoint checkpoint) {
    if (!has_room_for(checkpoint.bytes())) return;
    const auto place = std::lower_bound(checkpoints_.begin(), checkpoints_.end(), checkpoint.position, before);
    bytes_ += checkpoint.bytes();
    if (place != checkpoints_.end() && place->position == checkpoint.position) {
        bytes_ -= place->bytes();
        *place = std::move(checkpoint);
    } else {
        checkpoints_.insert(place, std::move(checkpoint));
    }
    thin();
}

const Checkpoint* CheckpointStore::nearest(int64_t position) const {
    const auto after = std::lower_bound(checkpoints_.begin(), checkpoints_.end(), position + 1, before);
    return after == checkpoints_.begin() ? nullptr : &*std::prev(after);
}

const Checkpoint* CheckpointStore::at(int64_t position) const {
    const Checkpoint* checkpoint = nearest(position);
    return checkpoint != nullptr && checkpoint->position == position ? checkpoint : nullptr;
}

void CheckpointStore::truncate(int64_t position) {
    while (!checkpoints_.empty() && checkpoints_.back().position > position) {
        bytes_ -= checkpoints_.back().bytes();
        checkpoints_.pop_back();
    }
}

void CheckpointStore::set_budget(int64_t bytes) {
    budget_bytes_ = bytes;
    thin();
}

void CheckpointStore::thin() {
    while (bytes_ > budget_bytes_ && !checkpoints_.empty()) {
        const auto victim = checkpoints_.begin() + static_cast<ptrdiff_t>(least_useful());
        bytes_ -= victim->bytes();
        checkpoints_.erase(victim);
    }
}

// Losing a checkpoint means reading the gap between its neighbours again; the same gap matters less the further back it
// lies. Keeping (gap / age) even is what makes the spacing grow exponentially.
size_t CheckpointStore::least_useful() const {
    const size_t count = checkpoints_.size();
    assert(count > 0);
    if (count <= newest_kept) return 0;
    const int64_t newest = checkpoints_.back().position;
    size_t least = 0;
    double least_cost = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < count - newest_kept; ++i) {
        const int64_t previous = i == 0 ? 0 : checkpoints_[i - 1].position;
        const auto gap = static_cast<double>(checkpoints_[i + 1].position - previous);
        const auto age = static_cast<double>(newest - previous);
        const double cost = worth(checkpoints_[i].kind) * gap / age;
        if (cost < least_cost) {
            least_cost = cost;
            least = i;
        }
    }
    return least;
}

}  // namespace octavo
