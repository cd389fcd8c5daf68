#include "app/user_folders.h"

#include <cstdlib>

namespace octavo {
namespace {

struct Base {
    const char* variable;
    const char* below;
};
constexpr Base kCacheBases[] = {{"XDG_CACHE_HOME", ""}, {"HOME", ".cache"}, {"LOCALAPPDATA", ""}};

}  // namespace

std::filesystem::path user_cache_folder() {
    for (const Base& base : kCacheBases) {
        const char* const value = std::getenv(base.variable);
        if (value == nullptr) continue;
        const std::filesystem::path path(value);
        if (path.is_absolute()) return path / base.below / "octavo";
    }
    return {};
}

}  // namespace octavo
