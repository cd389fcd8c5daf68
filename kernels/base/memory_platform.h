// What the operating system offers for memory: files mapped read-only, and address ranges that are reserved once and
// backed by pages as they are needed. The only door to mmap / VirtualAlloc in the project.
//
// Threads: an object belongs to one thread at a time; reading mapped or committed memory is free for all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "kernels/base/error.h"

namespace octavo {

// A whole file, mapped read-only. Empty files map to an empty span.
class MappedFile {
  public:
    static Result<MappedFile> open(const std::filesystem::path& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    std::span<const std::byte> bytes() const { return {data_, size_}; }

  private:
    MappedFile() = default;
    const std::byte* data_ = nullptr;
    size_t size_ = 0;
};

// A contiguous range of addresses with physical pages committed from its start. Growing and shrinking never move or
// copy what is there. Fresh pages read as zero.
class ReservedRange {
  public:
    ReservedRange() = default;
    static Result<ReservedRange> reserve(size_t bytes, const char* what);

    ReservedRange(ReservedRange&& other) noexcept;
    ReservedRange& operator=(ReservedRange&& other) noexcept;
    ~ReservedRange();

    // Makes [0, bytes) usable, rounded up to whole pages, and gives pages beyond that back to the system.
    Status commit(size_t bytes);

    std::byte* data() const { return data_; }
    size_t committed_bytes() const { return committed_; }
    size_t reserved_bytes() const { return reserved_; }

  private:
    std::byte* data_ = nullptr;
    size_t reserved_ = 0;
    size_t committed_ = 0;
    const char* what_ = "";
};

// The granularity of committed memory.
size_t memory_page_bytes();

// Physical memory that programs can still take without swapping, in bytes; 0 where the system does not say.
size_t available_memory_bytes();

// The machine's memory as the system counts it, in bytes; all 0 where it does not say.
struct MachineMemory {
    size_t total = 0;
    size_t available = 0;  // as available_memory_bytes
    size_t own = 0;        // resident pages of this process, those of mapped files included
    size_t own_files = 0;  // of these, pages of files: the system may take them back
};
MachineMemory machine_memory();

}  // namespace octavo
