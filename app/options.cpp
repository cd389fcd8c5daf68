#include "app/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <system_error>

#include "app/size_text.h"

namespace octavo {
namespace {

// CLI11 wants exceptions for values that it should refuse; they end inside its parse call.
int64_t size_or_throw(const std::string& text) {
    const Result<int64_t> size = parse_size(text);
    if (!size) throw CLI::ValidationError(size.error().message);
    return *size;
}

// "-o --json": the name was forgotten. "-" is standard input or output.
CLI::Validator no_option() {
    return {[](const std::string& text) {
                return text.size() > 1 && text.front() == '-'
                           ? fmt::format("'{0}' stands where a file is named: name one (./{0} if it is called that).",
                                         text)
                           : std::string();
            },
            ""};
}

}  // namespace

CLI::Validator between(double low, double high) {
    return {[low, high](std::string& text) {
                double value = 0;
                const bool fits = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
                return fits ? std::string() : fmt::format("'{}' is no number from {} to {}.", text, low, high);
            },
            fmt::format("NUMBER in [{} - {}]", low, high)};
}

CLI::Option* add_size_option(CLI::App& command, const std::string& name, int64_t& value,
                             const std::string& description) {
    return command
        .add_option_function<std::string>(
            name, [&value](const std::string& text) { value = size_or_throw(text); }, description)
        ->type_name("SIZE");
}

CLI::Option* add_count_option(CLI::App& command, const std::string& name, int64_t& value,
                              const std::string& description) {
    return command
        .add_option_function<std::string>(
            name,
            [&value, name](const std::string& text) {
                value = size_or_throw(text);
                if (value == 0) throw CLI::ValidationError(name + " must be 1 or more.");
            },
            description)
        ->type_name("N");
}

CLI::Validator whole_number(uint64_t least, uint64_t most) {
    return {[=](std::string& text) -> std::string {
                uint64_t value = 0;
                const char* const end = text.data() + text.size();
                const auto [stop, error] = std::from_chars(text.data(), end, value);
                const bool digits = stop == end && error != std::errc::invalid_argument;
                if (!digits || (error == std::errc() && value < least))
                    return fmt::format("'{}' is no whole number from {} on.", text, least);
                if (error != std::errc() || value > most) return fmt::format("{} is too large.", text);
                text = fmt::to_string(value);  // CLI11 would read zeros before it as octal
                return "";
            },
            ""};
}

CLI::Option* add_seed_option(CLI::App& command, uint64_t& seed, const std::string& description) {
    return command.add_option("--seed", seed, description)
        ->type_name("N")
        ->transform(whole_number(0, std::numeric_limits<uint64_t>::max()))
        ->capture_default_str();
}

CLI::Option* add_file_option(CLI::App& command, const std::string& name, std::string& value,
                             const std::string& description) {
    return command.add_option(name, value, description)
        ->type_name("FILE")
        ->check(not_empty("the name is empty (an unset variable?): name a file, or leave the option away."))
        ->check(no_option());
}

CLI::Validator not_empty(const std::string& sentence) {
    return {[sentence](const std::string& text) { return text.empty() ? sentence : std::string(); }, ""};
}

void add_model_options(CLI::App& command, ModelOptions& options) {
    add_file_option(command, "-m,--model", options.model,
                    "Model: a GGUF file or a folder of safetensors (default: bundled)");
    command.add_option("--device", options.device, "auto, cpu or cuda")->type_name("D")->capture_default_str();
    add_size_option(command, "--gpu-budget", options.gpu_budget_bytes,
                    "Most GPU memory to take, such as 8GiB (default: what is free)");
    command.add_option("--threads", options.threads, "Worker threads (default: one per physical core)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
}

void add_cache_options(CLI::App& command, CacheOptions& options) {
    command.add_option("--kv", options.kv, "Scheme of the KV cache ('octavo memory' lists them); k=A,v=B for one each")
        ->type_name("SCHEME")
        ->capture_default_str();
    add_size_option(command, "--kv-window", options.window,
                    "Newest tokens that stay in FP16 too (default: 1024 for schemes that pack values, else 0)")
        ->type_name("N");
    add_size_option(command, "--kv-sinks", options.sinks, "First tokens that stay in FP16 too (default: 64, else 0)")
        ->type_name("N");
    command.add_option("--rotate", options.rotate, "Rotate rows before packing: on, off, or auto (as the scheme says)")
        ->type_name("R")
        ->capture_default_str();
    command.add_option("--encoder", options.encoder, "How values are packed: reference or refined")
        ->type_name("E")
        ->capture_default_str();
    add_channel_options(command, options);
}

void add_channel_options(CLI::App& command, CacheOptions& options) {
    add_count_option(command, "--ctx", options.context,
                     "Context length in tokens, for example 16k (default: the model's)")
        ->type_name("SIZE");
    command
        .add_option("--equalise", options.equalise,
                    "Scale the channels of keys and values alike: off, free, or calibrated (measured once per model)")
        ->type_name("Q")
        ->capture_default_str();
}

void add_testing_options(CLI::App& command, CacheOptions& options) {
    command
        .add_option("--outliers", options.outliers,
                    "Put outlier channels into the keys, so that the largest is SPREAD times the median (6, 20 and 75 "
                    "are usual); exact arithmetic gives the same answers, KV formats have a harder time")
        ->type_name("SPREAD")
        ->group("Testing");
}

CLI::Option* add_store_option(CLI::App& command, std::string& file) {
    return add_file_option(
        command, "--store", file,
        "File of conversations (default: octavo/conversations.db in $XDG_DATA_HOME or ~/.local/share)");
}

void add_json_option(CLI::App& command, JsonOption& option) {
    command
        .add_option_function<std::vector<std::string>>(
            "--json",
            [&option](const std::vector<std::string>& values) {
                option.wanted = true;
                if (!values.empty() && !values.front().empty()) option.file = values.front();
            },
            "Write the result as JSON to FILE; '-' or nothing: to standard output, and nothing else there")
        ->type_name("[FILE]")
        ->expected(0, 1);
}

}  // namespace octavo
