// A memory in which something holds only what nobody else wants: before a request is refused, that is asked to give
// back. What takes memory during a pass must not ask here, where what gives way is part of the pass.
//
// Threads: as every Memory.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "kernels/base/memory.h"

namespace octavo {

struct Yielding {
    std::function<size_t()> yieldable_bytes;
    std::function<void(size_t bytes)> yield;  // gives back at least so many bytes, or all there is
};

class YieldingMemory final : public Memory {
  public:
    // `memory` outlives this one and all that is taken from it.
    YieldingMemory(Memory& memory, Yielding yielding) : memory_(memory), yielding_(std::move(yielding)) {}

    std::string_view place() const override { return memory_.place(); }
    bool on_host() const override { return memory_.on_host(); }
    size_t free_bytes() const override { return memory_.free_bytes() + yielding_.yieldable_bytes(); }
    size_t page_bytes() const override { return memory_.page_bytes(); }
    size_t taken_bytes() const override { return memory_.taken_bytes(); }
    Status room_for(size_t bytes, const char* what) const override;
    Result<Buffer> allocate(size_t bytes, const char* what) override;
    Result<std::unique_ptr<GrowableRange>> reserve(size_t bytes, const char* what) override;
    Result<Buffer> allocate_shared(size_t bytes, const char* what) override {
        return memory_.allocate_shared(bytes, what);
    }
    void upload(void* to, const void* from_host, size_t bytes) override { memory_.upload(to, from_host, bytes); }
    void download(void* to_host, const void* from, size_t bytes) override { memory_.download(to_host, from, bytes); }
    void copy(void* to, const void* from, size_t bytes) override { memory_.copy(to, from, bytes); }
    void clear(void* to, size_t bytes) override { memory_.clear(to, bytes); }

    // After a refusal of so many bytes: whether room was made for them, so that the request can come again.
    bool makes_room(const Error& refusal, size_t bytes) const;

  private:
    Memory& memory_;
    Yielding yielding_;
};

}  // namespace octavo
