#include "kernels/base/yielding_memory.h"

#include <algorithm>
#include <utility>

namespace octavo {
namespace {

class YieldingRange final : public GrowableRange {
  public:
    YieldingRange(YieldingMemory& memory, std::unique_ptr<GrowableRange> range, const char* what)
        : memory_(memory), range_(std::move(range)), what_(what) {}

    Status commit(size_t bytes) override {
        const size_t committed = range_->committed_bytes();
        const size_t page = memory_.page_bytes();
        const size_t wanted = (bytes + page - 1) / page * page;
        if (wanted > committed) {
            if (Status status = memory_.room_for(wanted - committed, what_); !status) return status;
        }
        return range_->commit(bytes);
    }
    std::byte* data() const override { return range_->data(); }
    size_t committed_bytes() const override { return range_->committed_bytes(); }

  private:
    YieldingMemory& memory_;
    std::unique_ptr<GrowableRange> range_;
    const char* what_;
};

}  // namespace

Status YieldingMemory::room_for(size_t bytes, const char* what) const {
    Status status = memory_.room_for(bytes, what);
    if (status || status.error().kind != ErrorKind::memory || bytes > free_bytes()) return status;
    yielding_.yield(bytes - std::min(bytes, memory_.free_bytes()));
    return memory_.room_for(bytes, what);
}

Result<Buffer> YieldingMemory::allocate(size_t bytes, const char* what) {
    if (Status status = room_for(bytes, what); !status) return status.error();
    return memory_.allocate(bytes, what);
}

Result<std::unique_ptr<GrowableRange>> YieldingMemory::reserve(size_t bytes, const char* what) {
    Result<std::unique_ptr<GrowableRange>> range = memory_.reserve(bytes, what);
    if (!range) return range.error();
    return std::unique_ptr<GrowableRange>(std::make_unique<YieldingRange>(*this, std::move(*range), what));
}

}  // namespace octavo
