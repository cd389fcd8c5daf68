// Owned, 64-byte aligned, uninitialised memory that a kernel may stream through.
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

    std::byte* data() const { return data_.get(); }
    size_t bytes() const { return bytes_; }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data_.get());
    }

  private:
    struct Free {
        void operator()(std::byte* data) const;
    };
    std::unique_ptr<std::byte, Free> data_;
    size_t bytes_ = 0;
};

}  // namespace octavo
