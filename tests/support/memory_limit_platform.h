// A system that has no more memory to give, for tests of what happens then.
//
// Threads: the limit holds for the whole process; one test uses it at a time.
#pragma once

#include <cstdint>
#include <memory>

namespace octavo {

class MemoryLimit {
  public:
    // From now on the process may make at most `more_bytes` more of its memory writable. nullptr where the system has
    // no such limit (or a sanitizer's own memory would hit it).
    static std::unique_ptr<MemoryLimit> after(int64_t more_bytes);
    virtual ~MemoryLimit() = default;
};

}  // namespace octavo
