// Owned, 64-byte aligned, uninitialised memory that a kernel may stream through: the computer's own, or a device's.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/base/error.h"

namespace octavo {

class Buffer {
  public:
    Buffer() = default;

    // Fails with ErrorKind::memory; `what` names the buffer in the sentence ("attention workspace").
    static Result<Buffer> allocate(size_t bytes, const char* what);
    // Memory taken elsewhere (memory.h): `release` gives it back.
    using Release = void (*)(void* owner, std::byte* data, size_t bytes);
    Buffer(std::byte* data, size_t bytes, void* owner, Release release)
        : data_(data, Free{owner, release, bytes}), bytes_(bytes) {}

    std::byte* data() const { return data_.get(); }
    size_t bytes() const { return bytes_; }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data_.get());
    }

  private:
    struct Free {
        void* owner;
        Release release;  // nullptr: ordinary memory
        size_t bytes;
        void operator()(std::byte* data) const;
    };
    std::unique_ptr<std::byte, Free> data_{nullptr, Free{nullptr, nullptr, 0}};
    size_t bytes_ = 0;
};

}  // namespace octavo
