// The text that a measurement reads: a file, or one made from a seed; as tokens, cut to length.
//
// Threads: used by the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "models/model.h"

namespace CLI {
class App;
}

namespace octavo {

struct TextOptions {
    std::string file;       // empty: a text made from the seed
    int64_t tokens = 8192;  // most of them
    uint64_t seed = 1;
};

void add_text_options(CLI::App& command, TextOptions& options);

// A file that is shorter gives fewer tokens; a made text always gives as many as asked for.
Result<std::vector<int32_t>> measured_tokens(const TextOptions& options, const Model& model);

// "GPL-3, 8192 tokens"
std::string text_line(const TextOptions& options, size_t tokens);

}  // namespace octavo
