// Any bytes as a GGUF model in two files, in a folder of their own, since the second is found by its name. Opening and
// summing up may fail, they may not crash, read outside the bytes, hang or take much memory.
//
// Input: two bytes, the length of the first file; then both files.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "models/gguf/checkpoint.h"
#include "models/model_summary.h"

namespace {

namespace fs = std::filesystem;

class Folder {
  public:
    Folder() : path_(fs::temp_directory_path() / ("octavo-shards-fuzz-" + std::to_string(std::random_device()()))) {
        fs::create_directories(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    fs::path file(int number) const { return path_ / ("model-0000" + std::to_string(number) + "-of-00002.gguf"); }
    void write(int number, std::string_view bytes) const {
        std::ofstream(file(number), std::ios::binary | std::ios::trunc)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }

  private:
    fs::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    static const Folder folder;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    const size_t first = std::min<size_t>(data[0] | size_t{data[1]} << 8, bytes.size());
    folder.write(1, bytes.substr(0, first));
    folder.write(2, bytes.substr(first));
    for (const int number : {1, 2}) {
        (void)octavo::open_gguf(folder.file(number));
        const fs::path files[] = {folder.file(number), folder.file(3 - number)};
        (void)octavo::summarise_gguf(files);
    }
    return 0;
}
