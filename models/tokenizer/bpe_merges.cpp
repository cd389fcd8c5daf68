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
// From here on a list for every rank of the vocabulary costs less than a queue of all pairs.
constexpr std::size_t shortest_ranked_row = std::size_t{1} << 16;

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

// Pairs in the order in which they merge: by rank, then from the left.
class HeapQueue {
  public:
    void push(int32_t rank, int32_t at) { heap_.push(static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(at)); }
    bool pop(int32_t& rank, int32_t& at) {
        if (heap_.empty()) return false;
        rank = static_cast<int32_t>(heap_.top() >> 32);
        at = static_cast<int32_t>(heap_.top() & UINT32_MAX);
        heap_.pop();
        return true;
    }
    static int32_t soon() { return 0; }

  private:
    std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> heap_;
};

// The same where no pair is pushed after one of its rank was popped: a list for each rank, which walks through the row
// in one direction.
class RankQueue {
  public:
    explicit RankQueue(int32_t ranks) : places_(static_cast<std::size_t>(ranks)) {}

    void push(int32_t rank, int32_t at) {
        std::vector<int32_t>& places = places_[static_cast<std::size_t>(rank)];
        if (places.empty()) waiting_.push(rank);
        places.push_back(at);
    }
    bool pop(int32_t& rank, int32_t& at) {
        if (next_ == open_.size() && !open()) return false;
        rank = rank_;
        at = open_[next_++];
        return true;
    }
    // A place that is popped a little later, if it stays a pair: they lie far apart in a long row.
    int32_t soon() const {
        constexpr std::size_t kAhead = 16;
        return next_ + kAhead < open_.size() ? open_[next_ + kAhead] : 0;
    }

  private:
    bool open() {
        if (waiting_.empty()) return false;
        rank_ = waiting_.top();
        waiting_.pop();
        open_ = std::move(places_[static_cast<std::size_t>(rank_)]);
        std::sort(open_.begin(), open_.end());
        next_ = 0;
        return true;
    }

    std::vector<std::vector<int32_t>> places_;                                    // [ranks]
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> waiting_;  // ranks with places
    std::vector<int32_t> open_;                                                   // of rank_
    int32_t rank_ = 0;
    std::size_t next_ = 0;
};

// A list of tokens, linked by their places in the row. A pair that is no longer what it was when it was queued has
// another rank, or none.
template <class Queue>
class LongRow {
  public:
    LongRow(const BpeMerges& merges, const int32_t* ids, std::size_t count, Queue queue)
        : merges_(merges), nodes_(count), queue_(std::move(queue)) {
        for (std::size_t i = 0; i < count; ++i)
            nodes_[i] = {ids[i], static_cast<int32_t>(i) - 1, i + 1 < count ? static_cast<int32_t>(i) + 1 : -1, {}};
        for (std::size_t i = 0; i + 1 < count; ++i) add_pair(static_cast<int32_t>(i));
    }

    void merge_all() {
        int32_t rank = 0, at = 0;
        while (queue_.pop(rank, at)) {
            __builtin_prefetch(&nodes_[queue_.soon()]);
            if (nodes_[at].merge.rank == rank) join(at);
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
        int32_t id;
        int32_t previous;
        int32_t next;
        Merge merge;  // with the next; none where this one was joined to a node on the left
    };

    void join(int32_t at) {
        Node& node = nodes_[at];
        Node& next = nodes_[node.next];
        node.id = node.merge.result;
        next.merge = {};
        node.next = next.next;
        if (node.next >= 0) nodes_[node.next].previous = at;
        if (node.previous >= 0) add_pair(node.previous);
        add_pair(at);
    }

    void add_pair(int32_t at) {
        Node& node = nodes_[at];
        node.merge = node.next < 0 ? Merge() : merges_.find(node.id, nodes_[node.next].id);
        if (node.merge.rank >= 0) queue_.push(node.merge.rank, at);
    }

    const BpeMerges& merges_;
    std::vector<Node> nodes_;
    Queue queue_;
};

template <class Queue>
void merge_long_row(const BpeMerges& merges, std::vector<int32_t>& ids, std::size_t first, Queue queue) {
    LongRow<Queue> row(merges, ids.data() + first, ids.size() - first, std::move(queue));
    row.merge_all();
    ids.resize(first + row.write(ids.data() + first));
}

}  // namespace

BpeMerges::BpeMerges(std::size_t count)
    : slots_(std::bit_ceil(count + count / 2 + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

bool BpeMerges::add(int32_t left, int32_t right, Merge merge) {
    Slot& place = slots_[slot(left, right)];
    if (place.left >= 0) return false;
    place = {left, right, merge};
    ascending_ =
        ascending_ && merge.rank >= ranks_ && !is_part(merge.result) && merge.result != left && merge.result != right;
    ranks_ = std::max(ranks_, merge.rank + 1);
    for (const int32_t part : {left, right}) {
        const auto at = static_cast<std::size_t>(part);
        if (at >= parts_.size()) parts_.resize(at + 1);
        parts_[at] = true;
    }
    return true;
}

void merge_tokens(const BpeMerges& merges, std::vector<int32_t>& ids, std::size_t first) {
    const std::size_t count = ids.size() - first;
    if (count < 2) return;
    if (count <= longest_short_row) return merge_short_row(merges, ids, first);
    if (count >= shortest_ranked_row && merges.ascending())
        merge_long_row(merges, ids, first, RankQueue(merges.ranks()));
    else
        merge_long_row(merges, ids, first, HeapQueue());
}

}  // namespace octavo
