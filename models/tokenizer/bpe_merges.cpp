#include "models/tokenizer/bpe_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <queue>

namespace octavo {
namespace {

using Merge = BpeMerges::Merge;

// Up to here looking at every pair again costs less than a queue of them.
constexpr std::size_t longest_short_row = 32;

void merge_short_row(const BpeMerges& merges, std::vector<int32_t>& ids, std::size_t first) {
    int32_t* row = ids.data() + first;
    std::size_t count = ids.size() - first;
    std::array<Merge, longest_short_row> found{};  // [count - 1] of a token and its right neighbour
    for (std::size_t i = 0; i + 1 < count; ++i) found[i] = merges.find(row[i], row[i + 1]);
    while (count > 1) {
        std::size_t best = count;
        for (std::size_t i = 0; i + 1 < count; ++i)
            if (found[i].rank >= 0 && (best == count || found[i].rank < found[best].rank)) best = i;
        if (best == count) break;
        row[best] = found[best].result;
        std::copy(row + best + 2, row + count, row + best + 1);
        std::copy(found.begin() + best + 1, found.begin() + count - 1, found.begin() + best);
        --count;
        if (best > 0) found[best - 1] = merges.find(row[best - 1], row[best]);
        if (best + 1 < count) found[best] = merges.find(row[best], row[best + 1]);
    }
    ids.resize(first + count);
}

// A list of tokens, linked by their places in the row, and a queue of pairs. A pair that is no longer what it was when
// it was queued has another rank, or none.
class LongRow {
  public:
    LongRow(const BpeMerges& merges, const int32_t* ids, std::size_t count) : merges_(merges), nodes_(count) {
        for (std::size_t i = 0; i < count; ++i)
            nodes_[i] = {ids[i], static_cast<int32_t>(i) - 1, i + 1 < count ? static_cast<int32_t>(i) + 1 : -1};
        std::vector<uint64_t> pairs;
        pairs.reserve(count);
        for (std::size_t i = 0; i + 1 < count; ++i)
            if (const Merge merge = merge_at(static_cast<int32_t>(i)); merge.rank >= 0)
                pairs.push_back(queued(merge.rank, static_cast<int32_t>(i)));
        queue_ = Queue(std::greater<>(), std::move(pairs));
    }

    void merge_all() {
        while (!queue_.empty()) {
            const auto at = static_cast<int32_t>(queue_.top() & UINT32_MAX);
            const auto rank = static_cast<int32_t>(queue_.top() >> 32);
            queue_.pop();
            const Merge merge = merge_at(at);
            if (merge.rank == rank) join(at, merge.result);
        }
    }

    // The row from its start; `out` has room for all of it.
    std::size_t write(int32_t* out) const {
        std::size_t count = 0;
        for (int32_t at = 0; at >= 0; at = nodes_[at].next) out[count++] = nodes_[at].id;
        return count;
    }

  private:
    struct Node {
        int32_t id;  // -1: joined to a node on the left
        int32_t previous;
        int32_t next;
    };
    using Queue = std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>>;

    static uint64_t queued(int32_t rank, int32_t at) {
        return static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(at);
    }

    Merge merge_at(int32_t at) const {
        const Node& node = nodes_[at];
        return node.id < 0 || node.next < 0 ? Merge() : merges_.find(node.id, nodes_[node.next].id);
    }

    void join(int32_t at, int32_t result) {
        Node& node = nodes_[at];
        Node& next = nodes_[node.next];
        node.id = result;
        next.id = -1;
        node.next = next.next;
        if (node.next >= 0) nodes_[node.next].previous = at;
        if (node.previous >= 0) add_pair(node.previous);
        add_pair(at);
    }

    void add_pair(int32_t at) {
        if (const Merge merge = merge_at(at); merge.rank >= 0) queue_.push(queued(merge.rank, at));
    }

    const BpeMerges& merges_;
    std::vector<Node> nodes_;
    Queue queue_;
};

}  // namespace

BpeMerges::BpeMerges(std::size_t count)
    : slots_(std::bit_ceil(count + count / 2 + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

bool BpeMerges::add(int32_t left, int32_t right, Merge merge) {
    Slot& place = slots_[slot(left, right)];
    if (place.left >= 0) return false;
    place = {left, right, merge};
    return true;
}

void merge_tokens(const BpeMerges& merges, std::vector<int32_t>& ids, std::size_t first) {
    const std::size_t count = ids.size() - first;
    if (count < 2) return;
    if (count <= longest_short_row) return merge_short_row(merges, ids, first);
    LongRow row(merges, ids.data() + first, count);
    row.merge_all();
    ids.resize(first + row.write(ids.data() + first));
}

}  // namespace octavo
