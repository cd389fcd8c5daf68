#include "kernels/base/memory.h"

#include <cstring>
#include <utility>

#include "kernels/base/memory_error.h"
#include "kernels/base/memory_platform.h"

namespace octavo {
namespace {

class HostRange final : public GrowableRange {
  public:
    explicit HostRange(ReservedRange range) : range_(std::move(range)) {}
    Status commit(size_t bytes) override { return range_.commit(bytes); }
    std::byte* data() const override { return range_.data(); }
    size_t committed_bytes() const override { return range_.committed_bytes(); }

  private:
    ReservedRange range_;
};

void copy_bytes(void* to, const void* from, size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

size_t HostMemory::free_bytes() const { return available_memory_bytes(); }

Status HostMemory::room_for(size_t bytes, const char* what) const {
    const size_t free = free_bytes();
    if (free == 0 || bytes <= free) return {};
    return not_enough_memory(what, bytes, free);
}

size_t HostMemory::page_bytes() const { return memory_page_bytes(); }

Result<Buffer> HostMemory::allocate(size_t bytes, const char* what) { return Buffer::allocate(bytes, what); }

Result<std::unique_ptr<GrowableRange>> HostMemory::reserve(size_t bytes, const char* what) {
    Result<ReservedRange> range = ReservedRange::reserve(bytes, what);
    if (!range) return range.error();
    return std::unique_ptr<GrowableRange>(std::make_unique<HostRange>(std::move(*range)));
}

void HostMemory::upload(void* to, const void* from_host, size_t bytes) { copy_bytes(to, from_host, bytes); }
void HostMemory::download(void* to_host, const void* from, size_t bytes) { copy_bytes(to_host, from, bytes); }
void HostMemory::copy(void* to, const void* from, size_t bytes) { copy_bytes(to, from, bytes); }
void HostMemory::clear(void* to, size_t bytes) {
    if (bytes > 0) std::memset(to, 0, bytes);
}

}  // namespace octavo
