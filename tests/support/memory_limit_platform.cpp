#include "tests/support/memory_limit_platform.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace octavo {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool has_sanitizer = true;
#else
constexpr bool has_sanitizer = false;
#endif

// Private writable memory of the process, as the limit counts it; 0: unknown.
int64_t data_bytes() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"), std::fclose);
    long long data_pages = 0;
    if (file == nullptr || std::fscanf(file.get(), "%*d %*d %*d %*d %*d %lld", &data_pages) != 1) return 0;
    return data_pages * sysconf(_SC_PAGESIZE);
}

class DataLimit : public MemoryLimit {
  public:
    explicit DataLimit(const rlimit& before) : before_(before) {}
    ~DataLimit() override { setrlimit(RLIMIT_DATA, &before_); }

  private:
    rlimit before_;
};

}  // namespace

std::unique_ptr<MemoryLimit> MemoryLimit::after(int64_t more_bytes) {
    if (has_sanitizer) return nullptr;
    const int64_t now = data_bytes();
    rlimit before{};
    if (now == 0 || getrlimit(RLIMIT_DATA, &before) != 0) return nullptr;
    rlimit limit = before;
    limit.rlim_cur = static_cast<rlim_t>(now + more_bytes);
    if (setrlimit(RLIMIT_DATA, &limit) != 0) return nullptr;
    return std::make_unique<DataLimit>(before);
}

}  // namespace octavo
