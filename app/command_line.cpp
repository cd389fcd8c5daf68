#include "app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/output.h"
#include "app/screenshot.h"
#include "app/selftest/selftest.h"
#include "app/terminal/terminal_platform.h"

namespace octavo {
namespace {

constexpr CommandEntry kCommands[] = {
    {"window", "Open the desktop window", add_window_command},
    {"chat", "Chat with a model in the terminal, or ask one question with -p", add_chat_command},
    {"conversations", "List, search, show, export and import the conversations that were saved",
     add_conversations_command},
    {"bench", "Measure prefill and decode speed against the memory's bandwidth", add_bench_command},
    {"fidelity", "Compare KV cache settings with a reference on a text: divergence, agreement, perplexity",
     add_fidelity_command},
    {"recall", "Find facts hidden in a long text under several KV cache settings, with controls and intervals",
     add_recall_command},
    {"kv-error", "Measure what KV cache settings do to keys, values and attention", add_kv_error_command},
    {"memory", "What a token costs in bytes, and the largest context that fits", add_memory_command},
    {"models", "List the models on this machine, and which of them can be run", add_models_command},
    {"inspect", "Show what is in a model file", add_inspect_command},
    {"make-model", "Write a file of random weights in the sizes of a real model, for tests and timings",
     add_make_model_command},
    {"tokenize", "Text to token ids, and back", add_tokenize_command},
    {"render", "The exact prompt that the model's chat template makes of messages", add_render_command},
    {"logits", "Write the logits of a prompt as a .npy file", add_logits_command},
};

int unknown_command(std::string_view name) {
    std::string known;
    for (const CommandEntry& command : kCommands) known += fmt::format("{}{}", known.empty() ? "" : ", ", command.name);
    return fail({ErrorKind::usage, fmt::format("there is no command '{}'. Commands: {}.", name, known)});
}

bool is_command(std::string_view name) {
    for (const CommandEntry& command : kCommands)
        if (name == command.name) return true;
    return false;
}

// CLI11 ends a parse by exception: for help as well as for bad usage. They stay in here.
int parse_error(const CLI::App& app, const CLI::ParseError& error, std::string_view command) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::string name = command.empty() ? "octavo" : fmt::format("octavo {}", command);
    return fail({ErrorKind::usage, fmt::format("{} ('{} --help' lists the options.)", error.what(), name)});
}

// The last stop for what no function can return as a value: containers that find no memory.
template <class Work>
int guarded(Work&& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return fail({ErrorKind::memory, "memory ran out: close other programs, or take a smaller model or context."});
    }
}

// The window, where there can be one; a script that writes to us means the chat. None: chat instead.
std::optional<int> try_window() {
    if (is_piped(Stream::input)) return std::nullopt;
    const Status status = run_window("");
    if (status) return 0;
    if (status.error().kind != ErrorKind::device) return fail(status.error());
    print_error(status.error().message);
    return std::nullopt;
}

int dispatch(int argc, char** argv) {
    if (argc == 1)
        if (const std::optional<int> code = try_window()) return *code;
    CLI::App app(
        "Octavo: chat with a hybrid mixture-of-experts model over very long contexts.\n"
        "Without arguments it opens its window, or chats in this terminal where there is no display.",
        "octavo");
    app.set_version_flag("--version", "octavo 0.1.0");
    app.set_help_flag("-h,--help", "Print this help");
    app.require_subcommand(0, 1);

    RunCommand run;
    for (const CommandEntry& entry : kCommands) {
        CLI::App* command = app.add_subcommand(entry.name, entry.description);
        command->final_callback([&run, chosen = entry.add(*command)] { run = chosen; });
    }
    SelfTestOptions self_test;
    add_self_test_options(app, self_test);
    ScreenshotOptions screenshot;
    add_screenshot_options(app, screenshot);

    const std::string_view first = argc > 1 ? argv[1] : "chat";
    if (!first.starts_with('-') && !is_command(first)) return unknown_command(first);
    try {
        if (argc > 1)
            app.parse(argc, argv);
        else
            app.parse(std::vector<std::string>{"chat"});
    } catch (const CLI::ParseError& error) {
        return parse_error(app, error, first.starts_with('-') ? "" : first);
    }
    if (run) return guarded(run);
    if (self_test.wanted) return guarded([&self_test] { return run_self_test(self_test); });
    if (screenshot.wanted()) return guarded([&screenshot] { return run_screenshot(screenshot); });
    return fail({ErrorKind::usage, "say what to do: 'octavo --help' lists the commands."});
}

}  // namespace

int run_command_line(int argc, char** argv) { return end_output(dispatch(argc, argv)); }

}  // namespace octavo
