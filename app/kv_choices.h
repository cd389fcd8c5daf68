// Several KV settings at once, as measurements take them: lists of schemes, windows, sinks, rotations and encoders, and
// every combination of them.
//
// Threads: used by the main thread.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "runtime/kv/kv_memory.h"
#include "runtime/kv/kv_settings.h"

namespace CLI {
class App;
}

namespace octavo {

struct KvChoices {
    std::vector<std::string> schemes = {"all"};  // names, pairs, lists with spaces or commas between them, or "all"
    std::vector<std::string> windows;            // tokens; empty: the scheme's default
    std::vector<std::string> sinks;              // likewise
    std::vector<std::string> rotations = {"auto"};
    std::vector<std::string> encoders = {"refined"};
};

// "q4_0,q2k k=q8_0,v=q4_0" in one argument or several: words, divided by spaces and by commas but for a pair's own.
std::vector<std::string> list_words(const std::vector<std::string>& arguments);

void add_kv_choices(CLI::App& command, KvChoices& choices);

// The scheme's defaults; a window or sinks no longer than `context` (0: not bounded), so that they do not stand in the
// way of a short one.
KvSettings default_kv_settings_within(const KvScheme& scheme, int64_t context);

// Every combination once: settings that come to the same (a window on a raw scheme, rotation on where it is on by
// itself) are listed once. Defaults are within `context`.
Result<std::vector<KvSettings>> kv_settings_of(const KvChoices& choices, int64_t context = 0);

// Before minutes of work, not in the middle of them: whether all suit the model.
Status check_all_kv_settings(const std::vector<KvSettings>& all, const KvShape& shape, int64_t context_length);

}  // namespace octavo
