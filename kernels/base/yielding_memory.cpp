#include "kernels/base/yielding_memory.h"

#include <algorithm>
#include <utility>

namespace octavo {
namespace {

class YieldingRange final : public GrowableRange {
  public:
    YieldingRange(YieldingMemory& memory, std::unique_ptr<GrowableRange> range)
        : memory_(memory), range_(std::move(range)) {}

    Status commit(size_t bytes) override {
        Status status = range_->commit(bytes);
        if (status) return status;
        const size_t page = memory_.page_bytes();
        const size_t wanted = (bytes + page - 1) / page * page;
        const size_t committed = range_->committed_bytes();
        if (wanted <= committed || !memory_.makes_room(status.error(), wanted - committed)) return status;
        return range_->commit(bytes);
    }
    std::byte* data() const override { return range_->data(); }
    size_t committed_bytes() const override { return range_->committed_bytes(); }

  private:
    YieldingMemory& memory_;
    std::unique_ptr<GrowableRange> range_;
};

}  // namespace

bool YieldingMemory::makes_room(const Error& refusal, size_t bytes) const {
    if (refusal.kind != ErrorKind::memory || bytes > free_bytes()) return false;
    yielding_.yield(bytes - std::min(bytes, memory_.free_bytes()));
    return true;
}

Status YieldingMemory::room_for(size_t bytes, const char* what) const {
    Status status = memory_.room_for(bytes, what);
    if (status || !makes_room(status.error(), bytes)) return status;
    return memory_.room_for(bytes, what);
}

Result<Buffer> YieldingMemory::allocate(size_t bytes, const char* what) {
    Result<Buffer> buffer = memory_.allocate(bytes, what);
    if (buffer || !makes_room(buffer.error(), bytes)) return buffer;
    return memory_.allocate(bytes, what);
}

Result<std::unique_ptr<GrowableRange>> YieldingMemory::reserve(size_t bytes, const char* what) {
    Result<std::unique_ptr<GrowableRange>> range = memory_.reserve(bytes, what);
    if (!range) return range.error();
    return std::unique_ptr<GrowableRange>(std::make_unique<YieldingRange>(*this, std::move(*range)));
}

}  // namespace octavo
