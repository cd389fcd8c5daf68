// The merges of a byte-level BPE vocabulary, and how they turn a row of tokens into fewer: of all neighbours that can
// merge, always the pair with the lowest rank, of equal ones the leftmost.
//
// Threads: const methods may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octavo {

// A hash table from pairs of tokens to what they merge into.
class BpeMerges {
  public:
    struct Merge {
        int32_t rank = -1;  // lower merges first; -1: the pair does not merge
        int32_t result = -1;
    };

    explicit BpeMerges(std::size_t count = 0);  // room for this many
    // At most as often as there is room; false where the pair has a merge already.
    bool add(int32_t left, int32_t right, Merge merge);
    int32_t ranks() const { return ranks_; }  // one above the highest
    // Whether a merge only makes pairs that merge later, by rank, as in every vocabulary that was trained.
    bool ascending() const { return ascending_; }
    Merge find(int32_t left, int32_t right) const { return slots_[slot(left, right)].merge; }

  private:
    struct Slot {
        int32_t left = -1;  // -1: free
        int32_t right = -1;
        Merge merge;
    };
    std::size_t slot(int32_t left, int32_t right) const {
        const uint64_t pair = static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
        std::size_t at = (pair * 0x9E3779B97F4A7C15U) >> shift_;  // Fibonacci hashing
        while (slots_[at].left >= 0 && (slots_[at].left != left || slots_[at].right != right))
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    bool is_part(int32_t id) const {
        const auto at = static_cast<std::size_t>(id);
        return at < parts_.size() && parts_[at];
    }

    int32_t ranks_ = 0;
    bool ascending_ = true;
    std::vector<bool> parts_;  // [token]: it is part of a merge that was added
    std::vector<Slot> slots_;  // a power of two, at least half as many again as there is room for
    int shift_;
};

// Merges ids[first..end) until no neighbours merge. n log n in the length of the row at most.
void merge_tokens(const BpeMerges& merges, std::vector<int32_t>& ids, std::size_t first);

}  // namespace octavo
