// A file layer for SQLite that has no more room after so many bytes.
//
// Threads: as the databases that use it; the limit may be changed from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

struct sqlite3_vfs;

namespace octavo {

class FailingDisk {
  public:
    static constexpr int64_t kUnlimited = -1;

    FailingDisk();
    ~FailingDisk();  // after all databases on it
    FailingDisk(const FailingDisk&) = delete;
    FailingDisk& operator=(const FailingDisk&) = delete;

    const char* name() const;  // for StoreOptions::vfs
    // Room for this many more bytes where a file grows; writing over what is there costs nothing.
    void set_free_bytes(int64_t bytes) { free_bytes_ = bytes; }
    int64_t free_bytes() const { return free_bytes_; }
    // Takes the room for `bytes` more; false where there is none.
    bool take(int64_t bytes);

  private:
    std::atomic<int64_t> free_bytes_{kUnlimited};
    std::unique_ptr<sqlite3_vfs> vfs_;
};

}  // namespace octavo
