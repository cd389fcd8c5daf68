// Every command of the program, one file each: its options, and what runs once they are parsed.
//
// An add function puts the options on `command` and returns the function that runs it and gives the exit code.
// Threads: commands run on the main thread.
#pragma once

#include <functional>
#include <string>

#include "kernels/base/error.h"

namespace CLI {
class App;
}

namespace octavo {

using RunCommand = std::function<int()>;

struct CommandEntry {
    const char* name;
    const char* description;
    RunCommand (*add)(CLI::App& command);
};

RunCommand add_bench_command(CLI::App& command);
RunCommand add_chat_command(CLI::App& command);
RunCommand add_conversations_command(CLI::App& command);
RunCommand add_fidelity_command(CLI::App& command);
RunCommand add_inspect_command(CLI::App& command);
RunCommand add_kv_error_command(CLI::App& command);
RunCommand add_logits_command(CLI::App& command);
RunCommand add_make_model_command(CLI::App& command);
RunCommand add_memory_command(CLI::App& command);
RunCommand add_models_command(CLI::App& command);
RunCommand add_recall_command(CLI::App& command);
RunCommand add_render_command(CLI::App& command);
RunCommand add_tokenize_command(CLI::App& command);
RunCommand add_window_command(CLI::App& command);

// Opens the desktop window and returns when it is closed. `model`: a path; empty: the last one, or the bundled one.
// ErrorKind::device where there is no display.
Status run_window(const std::string& model);

}  // namespace octavo
