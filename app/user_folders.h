// Where the program keeps files of its own.
//
// Threads: reads the environment; used by the main thread.
#pragma once

#include <filesystem>

namespace octavo {

// For what can be made again: octavo/ in $XDG_CACHE_HOME, else in ~/.cache (%LOCALAPPDATA% where there is no home).
// Not created here. Empty where the environment names no absolute path: then nothing is kept.
std::filesystem::path user_cache_folder();

// For what cannot be made again: octavo/ in $XDG_DATA_HOME, else in ~/.local/share (%APPDATA% where there is no home).
std::filesystem::path user_data_folder();

}  // namespace octavo
