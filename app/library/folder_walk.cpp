#include "app/library/folder_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "app/printable_text.h"
#include "app/size_text.h"

namespace octavo {

namespace fs = std::filesystem;

namespace {

// Only links lead there. Such a folder holds what has nothing to do with the place: all of the disk, for a link to "/".
bool is_above(const fs::path& folder, const fs::path& root) {
    const auto [rest, below] = std::mismatch(folder.begin(), folder.end(), root.begin(), root.end());
    return rest == folder.end() && below != root.end();
}

}  // namespace

bool FolderWalk::over() {
    if (job_->cancelled()) {
        error_ = "The search was stopped.";
    } else if (entries_ >= limits_->entries) {
        error_ = fmt::format("Only {} files and folders were looked at: choose a folder nearer to the models.",
                             group_digits(limits_->entries));
    } else if (std::chrono::steady_clock::now() >= end_) {
        error_ = fmt::format("The search took longer than {} s and was ended: choose a folder nearer to the models.",
                             std::chrono::duration_cast<std::chrono::seconds>(limits_->time).count());
    } else {
        return false;
    }
    return true;
}

bool FolderWalk::read(const fs::path& path, Folder& folder, std::vector<fs::path>& below) {
    std::error_code error;
    fs::directory_iterator it(path, error);
    for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
        if (over()) return false;
        ++entries_;
        std::string name = it->path().filename().string();
        if (name.starts_with('.')) continue;
        std::error_code ignored;
        const fs::file_status status = it->status(ignored);
        if (fs::is_directory(status)) {
            below.push_back(it->path());
        } else if (fs::is_regular_file(status)) {
            folder.files.push_back(std::move(name));
        }
    }
    if (error && error_.empty())
        error_ = fmt::format("{} could not be read: {}.", printable_line(path.string()), error.message());
    std::sort(folder.files.begin(), folder.files.end());
    std::sort(below.rbegin(), below.rend());
    return true;
}

void FolderWalk::run(const fs::path& root, const std::function<bool(const Folder&)>& visit) {
    std::error_code unreadable;  // said when it is read
    const fs::path real_root = fs::canonical(root, unreadable);
    std::vector<std::pair<fs::path, int>> ahead = {{root, 0}};  // with their depth; the last is the next
    while (!ahead.empty()) {
        const auto [path, depth] = std::move(ahead.back());
        ahead.pop_back();
        std::error_code error;
        const fs::path real = fs::canonical(path, error);
        if (!error && (is_above(real, real_root) || !seen_.insert(real).second)) continue;
        Folder folder{path, {}};
        std::vector<fs::path> below;
        if (!read(path, folder, below) || !visit(folder)) return;
        if (depth >= limits_->depth) continue;
        for (fs::path& each : below) ahead.emplace_back(std::move(each), depth + 1);
    }
}

}  // namespace octavo
