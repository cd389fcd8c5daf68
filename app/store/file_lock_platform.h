// A lock that one process holds on a file of its own, and that ends with the process, however it ends.
//
// Threads: any one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace octavo {

class FileLock {
  public:
    enum class Outcome {
        held,
        taken,       // another process has it
        impossible,  // the file can be neither made nor written
    };
    struct Attempt;
    // Makes the file where it is not there, and writes the process number into it. The file stays.
    static Attempt try_lock(const std::filesystem::path& file);

    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

  private:
    explicit FileLock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

struct FileLock::Attempt {
    Outcome outcome = Outcome::impossible;
    std::unique_ptr<FileLock> lock;  // when held
    int64_t owner = 0;               // when taken: number of the process that has it; 0: not known
};

}  // namespace octavo
