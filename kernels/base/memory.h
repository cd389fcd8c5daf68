// Where a back end keeps what it works on: ordinary memory for the CPU, a GPU's own memory for a GPU. Whoever holds
// buffers of a back end (workspace, KV cache, recurrent state, weights) takes them from here and moves bytes in and out
// with the four transfers, so that nothing above the kernels has to know where they live.
//
// Transfers and kernels of one back end happen in the order they were asked for. `upload` has read its source and
// `download` has written its target when they return; `copy` and `clear` may still be under way.
//
// Errors: ErrorKind::memory with the bytes wanted and free. A transfer that fails is reported by Backend::finish.
// Threads: the thread that calls the back end. Buffers and ranges must go before their memory does.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "kernels/base/buffer.h"
#include "kernels/base/error.h"

namespace octavo {

// A contiguous range of addresses with memory committed from its start; see ReservedRange, which is the CPU's.
class GrowableRange {
  public:
    virtual ~GrowableRange() = default;

    // Makes [0, bytes) usable and gives back what lies beyond, both rounded up to whole pages.
    virtual Status commit(size_t bytes) = 0;
    virtual std::byte* data() const = 0;
    virtual size_t committed_bytes() const = 0;
};

class Memory {
  public:
    virtual ~Memory() = default;

    virtual std::string_view place() const = 0;  // "cpu", "gpu": for memory plans
    virtual bool on_host() const = 0;            // whether ordinary code may follow pointers into it
    // Bytes that can still be taken; 0: not known.
    virtual size_t free_bytes() const = 0;
    // Whether so many bytes more could be taken for `what`; ErrorKind::memory.
    virtual Status room_for(size_t bytes, const char* what) const = 0;
    // What ranges grow by.
    virtual size_t page_bytes() const = 0;
    // Bytes that buffers and ranges have taken, as they count against a budget; 0: not counted.
    virtual size_t taken_bytes() const { return 0; }

    // `what` names the buffer in an error's sentence.
    virtual Result<Buffer> allocate(size_t bytes, const char* what) = 0;
    virtual Result<std::unique_ptr<GrowableRange>> reserve(size_t bytes, const char* what) = 0;
    // In ordinary memory, where operations and `copy` reach it too. Does not count as taken.
    virtual Result<Buffer> allocate_shared(size_t bytes, const char* what) { return Buffer::allocate(bytes, what); }

    virtual void upload(void* to, const void* from_host, size_t bytes) = 0;
    virtual void download(void* to_host, const void* from, size_t bytes) = 0;
    virtual void copy(void* to, const void* from, size_t bytes) = 0;
    virtual void clear(void* to, size_t bytes) = 0;  // to zero
};

// The computer's own memory. Has no state; nothing taken from it needs it to live on.
class HostMemory final : public Memory {
  public:
    std::string_view place() const override { return "cpu"; }
    bool on_host() const override { return true; }
    size_t free_bytes() const override;
    Status room_for(size_t bytes, const char* what) const override;
    size_t page_bytes() const override;
    Result<Buffer> allocate(size_t bytes, const char* what) override;
    Result<std::unique_ptr<GrowableRange>> reserve(size_t bytes, const char* what) override;
    void upload(void* to, const void* from_host, size_t bytes) override;
    void download(void* to_host, const void* from, size_t bytes) override;
    void copy(void* to, const void* from, size_t bytes) override;
    void clear(void* to, size_t bytes) override;
};

}  // namespace octavo
