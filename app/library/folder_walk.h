// A walk through folders that always ends: bounded in depth, entries and time, each real folder once, none above where
// it starts.
//
// Threads: it waits for the disk.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "app/library/find_models.h"
#include "kernels/base/job.h"

namespace octavo {

class FolderWalk {
  public:
    struct Folder {
        std::filesystem::path path;
        std::vector<std::string> files;  // names of regular files, links to such included; ascending
    };

    FolderWalk(const SearchLimits& limits, const Job& job)
        : limits_(&limits), job_(&job), end_(std::chrono::steady_clock::now() + limits.time) {}

    // Calls visit(folder) for `root` and every folder below it, until visit says false.
    void run(const std::filesystem::path& root, const std::function<bool(const Folder&)>& visit);

    // Why not everything was seen; empty: everything was.
    const std::string& error() const { return error_; }
    // Whether the walk has to end now.
    bool over();

  private:
    bool read(const std::filesystem::path& path, Folder& folder, std::vector<std::filesystem::path>& below);

    const SearchLimits* limits_;
    const Job* job_;
    std::chrono::steady_clock::time_point end_;
    int entries_ = 0;
    std::set<std::filesystem::path> seen_;  // real paths
    std::string error_;
};

}  // namespace octavo
