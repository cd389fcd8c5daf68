#include "app/store/file_lock_platform.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace octavo {
namespace {

int64_t read_owner(int descriptor) {
    char digits[24] = {};
    const ssize_t count = pread(descriptor, digits, sizeof digits - 1, 0);
    return count > 0 ? std::strtoll(digits, nullptr, 10) : 0;
}

// Only for the sentence that another process may show: no harm where it fails.
void write_owner(int descriptor) {
    const std::string digits = fmt::format("{}\n", getpid());
    if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, digits.data(), digits.size(), 0) < 0) return;
}

}  // namespace

FileLock::Attempt FileLock::try_lock(const std::filesystem::path& file) {
    Attempt attempt;
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return attempt;
    int result = 0;
    do result = flock(descriptor, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    if (result != 0) {
        if (errno == EWOULDBLOCK) {
            attempt.outcome = Outcome::taken;
            attempt.owner = read_owner(descriptor);
        }
        close(descriptor);
        return attempt;
    }
    write_owner(descriptor);
    attempt.outcome = Outcome::held;
    attempt.lock.reset(new FileLock(descriptor));
    return attempt;
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace octavo
