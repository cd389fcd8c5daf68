#include "app/library/model_places.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace octavo {
namespace {

namespace fs = std::filesystem;

struct Rule {
    const char* source;
    PlaceLayout layout;
    const char* variable;  // nullptr: `below` is absolute
    const char* below;
};

// HOME is set on POSIX systems, USERPROFILE and LOCALAPPDATA on Windows.
constexpr Rule kRules[] = {
    {"LM Studio", PlaceLayout::folder, "HOME", ".lmstudio/models"},
    {"LM Studio", PlaceLayout::folder, "HOME", ".cache/lm-studio/models"},
    {"LM Studio", PlaceLayout::folder, "USERPROFILE", ".lmstudio/models"},
    {"LM Studio", PlaceLayout::folder, "USERPROFILE", ".cache/lm-studio/models"},
    {"Hugging Face", PlaceLayout::hub_cache, "HF_HUB_CACHE", ""},
    {"Hugging Face", PlaceLayout::hub_cache, "HUGGINGFACE_HUB_CACHE", ""},
    {"Hugging Face", PlaceLayout::hub_cache, "HF_HOME", "hub"},
    {"Hugging Face", PlaceLayout::hub_cache, "XDG_CACHE_HOME", "huggingface/hub"},
    {"Hugging Face", PlaceLayout::hub_cache, "HOME", ".cache/huggingface/hub"},
    {"Hugging Face", PlaceLayout::hub_cache, "USERPROFILE", ".cache/huggingface/hub"},
    {"Ollama", PlaceLayout::ollama, "OLLAMA_MODELS", ""},
    {"Ollama", PlaceLayout::ollama, "HOME", ".ollama/models"},
    {"Ollama", PlaceLayout::ollama, "USERPROFILE", ".ollama/models"},
    {"Ollama", PlaceLayout::ollama, nullptr, "/usr/share/ollama/.ollama/models"},
    {"llama.cpp", PlaceLayout::folder, "LLAMA_CACHE", ""},
    {"llama.cpp", PlaceLayout::folder, "XDG_CACHE_HOME", "llama.cpp"},
    {"llama.cpp", PlaceLayout::folder, "HOME", ".cache/llama.cpp"},
    {"llama.cpp", PlaceLayout::folder, "HOME", "Library/Caches/llama.cpp"},
    {"llama.cpp", PlaceLayout::folder, "LOCALAPPDATA", "llama.cpp"},
};

fs::path folder_of(const Rule& rule, const Environment& environment) {
    if (rule.variable == nullptr) return rule.below;
    const fs::path base = environment(rule.variable);
    if (!base.is_absolute()) return {};
    return *rule.below == '\0' ? base : base / rule.below;
}

bool is_same(const fs::path& a, const fs::path& b) {
    std::error_code error;
    return a == b || fs::equivalent(a, b, error);
}

bool holds_repositories(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator it(folder, error);
    // Among the first entries, if at all: nothing else lies in a hub cache.
    for (int seen = 0; !error && it != fs::directory_iterator() && seen < 64; it.increment(error), ++seen)
        if (it->path().filename().string().starts_with("models--")) return true;
    return false;
}

}  // namespace

Environment process_environment() {
    return [](const char* variable) {
        const char* const value = std::getenv(variable);
        return std::string(value == nullptr ? "" : value);
    };
}

std::vector<ModelPlace> places_of_other_programs(const Environment& environment) {
    std::vector<ModelPlace> places;
    for (const Rule& rule : kRules) {
        const fs::path folder = folder_of(rule, environment);
        std::error_code error;
        if (folder.empty() || !fs::is_directory(folder, error)) continue;
        const bool known = std::any_of(places.begin(), places.end(),
                                       [&](const ModelPlace& place) { return is_same(place.folder, folder); });
        if (!known) places.push_back({rule.source, rule.layout, folder});
    }
    return places;
}

ModelPlace place_of_folder(const fs::path& folder) {
    std::error_code error;
    PlaceLayout layout = PlaceLayout::folder;
    if (fs::is_directory(folder / "manifests", error) && fs::is_directory(folder / "blobs", error))
        layout = PlaceLayout::ollama;
    else if (holds_repositories(folder))
        layout = PlaceLayout::hub_cache;
    return {folder.string(), layout, folder};
}

}  // namespace octavo
