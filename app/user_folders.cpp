#include "app/user_folders.h"

#include <cstdlib>
#include <span>

namespace octavo {
namespace {

struct Base {
    const char* variable;
    const char* below;
};
constexpr Base kCacheBases[] = {{"XDG_CACHE_HOME", ""}, {"HOME", ".cache"}, {"LOCALAPPDATA", ""}};
constexpr Base kDataBases[] = {{"XDG_DATA_HOME", ""}, {"HOME", ".local/share"}, {"APPDATA", ""}};

std::filesystem::path first_folder(std::span<const Base> bases) {
    for (const Base& base : bases) {
        const char* const value = std::getenv(base.variable);
        if (value == nullptr) continue;
        const std::filesystem::path path(value);
        if (path.is_absolute()) return path / base.below / "octavo";
    }
    return {};
}

}  // namespace

std::filesystem::path user_cache_folder() { return first_folder(kCacheBases); }
std::filesystem::path user_data_folder() { return first_folder(kDataBases); }

}  // namespace octavo
