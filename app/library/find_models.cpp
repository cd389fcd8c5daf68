#include "app/library/find_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "app/library/folder_walk.h"
#include "app/library/ollama.h"
#include "app/size_text.h"
#include "models/gguf/shard_name.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGguf = ".gguf";
constexpr std::string_view kSafetensors = ".safetensors";
// What programs call a file while it arrives.
constexpr std::string_view kUnfinished[] = {
    ".part",       ".partial", ".incomplete", ".downloading", ".downloadInProgress",
    ".crdownload", ".tmp",     ".aria2",      ".download",    ".opdownload"};

constexpr const char* kNotFinished = "The download is not finished.";

// Names of files that arrive, by the name they will have: "x.gguf.part" of "x.gguf". A file of the name itself may be
// there already, at its full length but not filled.
using UnfinishedModels = std::map<std::string, std::string>;

UnfinishedModels unfinished_models(const std::vector<std::string>& names) {
    UnfinishedModels models;
    for (const std::string_view name : names) {
        for (const std::string_view suffix : kUnfinished) {
            const size_t end = name.find(kGguf);
            if (name.ends_with(suffix) && end != std::string_view::npos && end + kGguf.size() < name.size())
                models.emplace(name.substr(0, end + kGguf.size()), name);
        }
    }
    return models;
}

// "org/name" of "models--org--name".
std::string repository_name(std::string_view folder) {
    constexpr std::string_view kPrefix = "models--";
    if (!folder.starts_with(kPrefix)) return {};
    const std::string_view name = folder.substr(kPrefix.size());
    const size_t split = name.find("--");
    if (split == std::string_view::npos) return std::string(name);
    return fmt::format("{}/{}", name.substr(0, split), name.substr(split + 2));
}

// Parts of split models in one folder, by stem and count.
using Shards = std::map<std::pair<std::string, int>, std::map<int, fs::path>>;

class Finder {
  public:
    Finder(const ModelPlace& place, const SearchLimits& limits, const Job& job)
        : place_(place), limits_(limits), walk_(limits, job) {}

    FoundModels run() {
        const bool ollama = place_.layout == PlaceLayout::ollama;
        const fs::path root = ollama ? place_.folder / "manifests" : place_.folder;
        std::error_code error;
        if (ollama && !fs::exists(root, error)) return {};  // Ollama has no models yet
        walk_.run(root, [&](const FolderWalk::Folder& folder) {
            if (ollama)
                read_manifests(folder);
            else
                read_folder(folder);
            return !full();
        });
        std::sort(found_.models.begin(), found_.models.end(),
                  [](const FoundModel& a, const FoundModel& b) { return a.name < b.name; });
        if (found_.error.empty()) found_.error = walk_.error();
        return std::move(found_);
    }

  private:
    bool full() {
        if (std::ssize(found_.models) < limits_.models) return false;
        found_.error =
            fmt::format("Only {} models are listed: choose a folder with fewer.", group_digits(limits_.models));
        return true;
    }

    void read_manifests(const FolderWalk::Folder& folder) {
        for (const std::string& file : folder.files) {
            if (walk_.over() || full()) return;
            if (std::optional<FoundModel> model = read_ollama_manifest(place_.folder, folder.path / file))
                found_.models.push_back(std::move(*model));
        }
    }

    // The repository in a hub cache, else the folder below the place.
    std::string group_of(const fs::path& folder) const {
        const fs::path below = folder.lexically_relative(place_.folder);
        if (place_.layout == PlaceLayout::hub_cache && !below.empty()) return repository_name(below.begin()->string());
        return below == "." ? std::string() : below.generic_string();
    }

    bool is_blob_folder(const fs::path& folder) const {
        return place_.layout == PlaceLayout::hub_cache && folder.filename() == "blobs";
    }

    void read_folder(const FolderWalk::Folder& folder) {
        if (is_blob_folder(folder.path)) return read_blobs(folder);
        const UnfinishedModels unfinished = unfinished_models(folder.files);
        Shards shards;
        bool has_config = false, has_safetensors = false;
        for (const std::string& name : folder.files) {
            has_config = has_config || name == "config.json";
            has_safetensors = has_safetensors || name.ends_with(kSafetensors);
            if (!name.ends_with(kGguf)) continue;
            if (const auto shard = parse_shard_name(name))
                shards[{shard->stem, shard->count}][shard->number] = folder.path / name;
            else if (!unfinished.contains(name))
                add({name.substr(0, name.size() - kGguf.size()), group_of(folder.path), {folder.path / name}});
        }
        for (const auto& [name, file] : unfinished) {
            if (const auto shard = parse_shard_name(name))
                shards[{shard->stem, shard->count}].erase(shard->number);
            else
                add_unfinished(name.substr(0, name.size() - kGguf.size()), folder.path, file);
        }
        for (const auto& [key, files] : shards) {
            const ShardName shard{key.first, 1, key.second};
            add_shards(folder.path, shard, files, unfinished);
        }
        if (has_config && has_safetensors)
            add({folder_name(folder.path), group_of(folder.path), {folder.path}, true, {}});
    }

    // Of a snapshot, whose folder is a hash, the repository.
    std::string folder_name(const fs::path& folder) const {
        const std::string repository = group_of(folder);
        const bool hub = place_.layout == PlaceLayout::hub_cache && !repository.empty();
        return hub ? repository.substr(repository.find('/') + 1) : folder.filename().string();
    }

    // A snapshot gets a file's name only when the file is whole; until then it is a blob with a hash for a name.
    void read_blobs(const FolderWalk::Folder& folder) {
        for (const std::string& name : folder.files) {
            if (!name.ends_with(".incomplete")) continue;
            const std::string repository = group_of(folder.path);
            return add_unfinished(repository.substr(repository.find('/') + 1), folder.path, name);
        }
    }

    void add_unfinished(std::string name, const fs::path& folder, const std::string& file) {
        add({std::move(name), group_of(folder), {}, false, kNotFinished, folder / file});
    }

    void add_shards(const fs::path& folder, const ShardName& shard, const std::map<int, fs::path>& files,
                    const UnfinishedModels& unfinished) {
        FoundModel model{shard.stem, group_of(folder), {}, false, {}, folder};
        for (int number = 1; number <= shard.count; ++number) {
            const auto file = files.find(number);
            if (file != files.end()) {
                model.files.push_back(file->second);
            } else if (model.incomplete.empty()) {
                const std::string name = shard.file(number);
                model.incomplete =
                    unfinished.contains(name)
                        ? fmt::format("The download is not finished: part {} of {} is on its way.", number, shard.count)
                        : fmt::format("Part {} of {} is missing ({}): fetch it into the same folder.", number,
                                      shard.count, name);
            }
        }
        add(std::move(model));
    }

    // Revisions of a repository share their files: each is listed once.
    void add(FoundModel model) {
        if (full()) return;
        std::error_code error;
        if (!model.files.empty()) {
            const fs::path real = fs::canonical(model.files.front(), error);
            if (!error && !seen_.insert(real).second) return;
        }
        found_.models.push_back(std::move(model));
    }

    const ModelPlace& place_;
    const SearchLimits& limits_;
    FolderWalk walk_;
    std::set<fs::path> seen_;  // real paths of first files
    FoundModels found_;
};

}  // namespace

FoundModels find_models(const ModelPlace& place, const SearchLimits& limits, const Job& job) {
    return Finder(place, limits, job).run();
}

}  // namespace octavo
