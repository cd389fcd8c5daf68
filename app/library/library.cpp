#include "app/library/library.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <system_error>

#include "app/library/describe_model.h"
#include "models/gguf/shard_name.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class Reader {
  public:
    Reader(const SearchLimits& limits, const Job& job)
        : limits_(limits), job_(job), end_(std::chrono::steady_clock::now() + limits.time) {}

    void read(const ModelPlace& place, ModelLibrary& library) {
        const FoundModels found = find_models(place, limits_, job_);
        LibraryPlace listed{place, 0, found.error};
        std::map<fs::path, std::string> vision_parts;  // by folder
        const size_t first = library.models.size();
        for (const FoundModel& each : found.models) {
            if (job_.cancelled()) break;
            if (std::chrono::steady_clock::now() >= end_) {
                listed.error = "Reading the models took too long and was ended: choose a folder with fewer.";
                break;
            }
            if (!is_new(each)) continue;
            DescribedModel described = describe_found(each, place.source);
            if (described.vision_part)
                vision_parts[each.files.front().parent_path()] = each.files.front().filename().string();
            else
                library.models.push_back(std::move(described.model));
        }
        for (size_t i = first; i < library.models.size(); ++i) note_vision_part(vision_parts, library.models[i]);
        listed.models = static_cast<int>(library.models.size() - first);
        library.places.push_back(std::move(listed));
    }

  private:
    // Places may overlap.
    bool is_new(const FoundModel& found) {
        std::error_code error;
        if (found.files.empty()) return true;
        const fs::path real = fs::canonical(found.files.front(), error);
        return error || seen_.insert(real).second;
    }

    static void note_vision_part(const std::map<fs::path, std::string>& vision_parts, LibraryModel& model) {
        const auto part = vision_parts.find(fs::path(model.path).parent_path());
        if (part != vision_parts.end())
            model.notes.push_back(fmt::format("The vision part beside it, {}, is not used.", part->second));
    }

    const SearchLimits& limits_;
    const Job& job_;
    std::chrono::steady_clock::time_point end_;
    std::set<fs::path> seen_;
};

// All parts of the split model that `path` is one of.
FoundModel found_at(const fs::path& path) {
    FoundModel found;
    std::error_code error;
    found.safetensors = fs::is_directory(path, error) || path.extension() == ".safetensors";
    found.name = path.stem().string();
    if (found.safetensors && !fs::is_directory(path, error)) {
        found.files = {path.parent_path()};
        return found;
    }
    found.files = {path};
    const auto shard = parse_shard_name(path.filename().string());
    if (!shard) return found;
    found.name = shard->stem;
    found.files.clear();
    for (int number = 1; number <= shard->count; ++number) {
        const fs::path part = path.parent_path() / shard->file(number);
        if (fs::is_regular_file(part, error))
            found.files.push_back(part);
        else if (found.incomplete.empty())
            found.incomplete = fmt::format("Part {} of {} is missing ({}): fetch it into the same folder.", number,
                                           shard->count, part.filename().string());
    }
    return found;
}

}  // namespace

ModelLibrary read_library(const std::vector<ModelPlace>& places, const SearchLimits& limits, const Job& job) {
    ModelLibrary library;
    Reader reader(limits, job);
    for (const ModelPlace& place : places) reader.read(place, library);
    return library;
}

LibraryModel describe_model(const std::string& path) { return describe_found(found_at(path), "").model; }

MemoryFit memory_fit(const LibraryModel& model, size_t total_bytes, size_t available_bytes) {
    if (model.needed_bytes == 0 || total_bytes == 0) return MemoryFit::unknown;
    const auto needed = static_cast<size_t>(model.needed_bytes);
    if (needed <= available_bytes) return MemoryFit::fits;
    return needed <= total_bytes ? MemoryFit::fits_when_free : MemoryFit::too_large;
}

std::string_view memory_fit_name(MemoryFit fit) {
    switch (fit) {
        case MemoryFit::fits: return "fits";
        case MemoryFit::fits_when_free: return "fits when memory is freed";
        case MemoryFit::too_large: return "too large";
        case MemoryFit::unknown: return "unknown";
    }
    return "";
}

}  // namespace octavo
