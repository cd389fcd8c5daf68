#include "kernels/base/buffer.h"

#include <new>

#include "kernels/base/memory_error.h"
#include "kernels/base/memory_platform.h"

namespace octavo {
namespace {

constexpr std::align_val_t kAlignment{64};
// Below this, asking the system how much memory is free costs more than it tells.
constexpr size_t kLargeBytes = size_t{16} << 20;

}  // namespace

Result<Buffer> Buffer::allocate(size_t bytes, const char* what) {
    Buffer buffer;
    if (bytes == 0) return buffer;
    // Systems promise more memory than they have, and stop the program when it is touched.
    if (bytes >= kLargeBytes) {
        const size_t available = available_memory_bytes();
        if (available != 0 && bytes > available) return not_enough_memory(what, bytes, available);
    }
    void* data = ::operator new(bytes, kAlignment, std::nothrow);
    if (data == nullptr) return not_enough_memory(what, bytes, available_memory_bytes());
    buffer.data_.reset(static_cast<std::byte*>(data));
    buffer.bytes_ = bytes;
    return buffer;
}

void Buffer::Free::operator()(std::byte* data) const {
    if (release != nullptr) {
        release(owner, data, bytes);
    } else {
        ::operator delete(data, kAlignment);
    }
}

}  // namespace octavo
