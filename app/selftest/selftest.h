// `octavo --test`: whether this program does on this machine what it should, without a display, a GPU or a network.
//
// Every check passes, fails or is skipped, the latter two with a reason. The last line on standard output is exactly
// "N passed, N failed, N skipped".
#pragma once

#include <string>

#include "app/options.h"

namespace octavo {

struct SelfTestOptions {
    bool wanted = false;
    JsonOption json;
    std::string device = "auto";
    int threads = 0;
};

void add_self_test_options(CLI::App& app, SelfTestOptions& options);

// Exit code 0: nothing failed; 1: something did.
int run_self_test(const SelfTestOptions& options);

}  // namespace octavo
