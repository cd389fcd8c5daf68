// POSIX side of memory_platform.h.
#if !defined(_WIN32)

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "kernels/base/memory_error.h"
#include "kernels/base/memory_platform.h"

namespace octavo {
namespace {

class FileDescriptor {
  public:
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    ~FileDescriptor() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }

  private:
    int fd_;
};

Error io_error(const std::filesystem::path& path, int code) {
    return {ErrorKind::io, fmt::format("Cannot open {}: {}.", path.string(), std::strerror(code))};
}

// A multiple of the page size; 0 when the sum overflows (or `bytes` is 0).
size_t round_up_to_pages(size_t bytes) {
    return (bytes + memory_page_bytes() - 1) / memory_page_bytes() * memory_page_bytes();
}

}  // namespace

size_t memory_page_bytes() {
    static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a named pipe would wait for a writer, perhaps for ever; regular files do not mind.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return io_error(path, errno);
    struct stat status = {};
    if (fstat(file.get(), &status) != 0) return io_error(path, errno);
    if (!S_ISREG(status.st_mode)) {
        return Error{ErrorKind::io, fmt::format("Cannot open {}: it is not a regular file.", path.string())};
    }
    MappedFile mapped;
    mapped.size_ = static_cast<size_t>(status.st_size);
    if (mapped.size_ == 0) return mapped;
    void* data = mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED) {
        mapped.size_ = 0;
        return io_error(path, errno);
    }
    mapped.data_ = static_cast<const std::byte*>(data);
    return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

Result<ReservedRange> ReservedRange::reserve(size_t bytes, const char* what) {
    ReservedRange range;
    range.what_ = what;
    if (bytes == 0) return range;
    const size_t rounded = round_up_to_pages(bytes);
    void* data = MAP_FAILED;
    if (rounded != 0) data = mmap(nullptr, rounded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
        return Error{ErrorKind::memory,
                     fmt::format("Cannot reserve {} of addresses for {}: the system limits this process's address "
                                 "space; raise the limit (ulimit -v).",
                                 format_bytes(bytes), what)};
    }
    range.data_ = static_cast<std::byte*>(data);
    range.reserved_ = rounded;
    return range;
}

ReservedRange::ReservedRange(ReservedRange&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      reserved_(std::exchange(other.reserved_, 0)),
      committed_(std::exchange(other.committed_, 0)),
      what_(other.what_) {}

ReservedRange& ReservedRange::operator=(ReservedRange&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(reserved_, other.reserved_);
    std::swap(committed_, other.committed_);
    std::swap(what_, other.what_);
    return *this;
}

ReservedRange::~ReservedRange() {
    if (data_ != nullptr) munmap(data_, reserved_);
}

Status ReservedRange::commit(size_t bytes) {
    if (bytes > reserved_) {
        return Error{ErrorKind::memory, fmt::format("Not enough room for {}: {} wanted, {} reserved.", what_,
                                                    format_bytes(bytes), format_bytes(reserved_))};
    }
    const size_t wanted = round_up_to_pages(bytes);
    if (wanted > committed_) {
        const size_t growth = wanted - committed_;
        const size_t available = available_memory_bytes();
        if (available != 0 && growth > available) return not_enough_memory(what_, growth, available);
        if (mprotect(data_ + committed_, growth, PROT_READ | PROT_WRITE) != 0) {
            return not_enough_memory(what_, growth, available);
        }
#if defined(MADV_HUGEPAGE)
        // Decode reads all of a KV cache for every token; with large pages the processor finds them faster. They never
        // reach beyond what is committed. A system that has none just says no.
        (void)madvise(data_, wanted, MADV_HUGEPAGE);
#endif
    } else if (wanted < committed_) {
        // A fresh mapping over the tail drops its pages at once; they read as zero when they come back.
        void* tail = mmap(data_ + wanted, committed_ - wanted, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (tail == MAP_FAILED) {
            return Error{ErrorKind::memory,
                         fmt::format("The system did not take back memory of {}: {}.", what_, std::strerror(errno))};
        }
    }
    committed_ = wanted;
    return {};
}

namespace {

// The value in bytes of each line "name: N kB" that is asked for; 0 where the file lacks it.
struct KibLine {
    const char* name;
    size_t bytes = 0;
};

template <size_t count>
void read_kib_lines(const char* path, KibLine (&wanted)[count]) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "r"), std::fclose);
    if (file == nullptr) return;
    char line[256];
    while (std::fgets(line, sizeof line, file.get()) != nullptr) {
        for (KibLine& each : wanted) {
            const size_t length = std::strlen(each.name);
            unsigned long long kib = 0;
            if (std::strncmp(line, each.name, length) == 0 && std::sscanf(line + length, ": %llu kB", &kib) == 1)
                each.bytes = static_cast<size_t>(kib) * 1024;
        }
    }
}

}  // namespace

size_t available_memory_bytes() {
    KibLine available[] = {{"MemAvailable"}};
    read_kib_lines("/proc/meminfo", available);
    return available[0].bytes;
}

MachineMemory machine_memory() {
    KibLine machine[] = {{"MemTotal"}, {"MemAvailable"}};
    read_kib_lines("/proc/meminfo", machine);
    KibLine own[] = {{"VmRSS"}, {"RssFile"}};
    read_kib_lines("/proc/self/status", own);
    return {machine[0].bytes, machine[1].bytes, own[0].bytes, own[1].bytes};
}

}  // namespace octavo

#endif
