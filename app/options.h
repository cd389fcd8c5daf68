// Options that several commands share: how they are written, checked and explained, once.
//
// Threads: used by the main thread before a command runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/kv/kv_settings.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace octavo {

struct ModelOptions {
    std::string model;  // path; empty: the bundled model
    std::string device = "auto";
    int threads = 0;               // 0: one per physical core
    int64_t gpu_budget_bytes = 0;  // 0: what is free
};

struct CacheOptions {
    static constexpr int64_t by_scheme = -1;

    std::string kv = "f16";       // scheme of the KV cache
    int64_t window = by_scheme;   // newest tokens kept in FP16 on top of the scheme
    int64_t sinks = by_scheme;    // first tokens kept in FP16 on top of the scheme
    std::string rotate = "auto";  // on, off, auto
    std::string encoder = "refined";
    std::string equalise = std::string(kv_equalise_name(default_kv_equalise));
    double outliers = 0;  // for tests: spread of the keys' channels; 0: as the model has them
    int64_t context = 0;  // tokens; 0: what the model was made for
};

struct JsonOption {
    bool wanted = false;
    std::string file = "-";  // "-": standard output
    bool to_stdout() const { return wanted && file == "-"; }
};

void add_model_options(CLI::App& command, ModelOptions& options);
void add_cache_options(CLI::App& command, CacheOptions& options);
// Those of them that commands with lists of schemes (kv_choices.h) take too: --ctx and --equalise.
void add_channel_options(CLI::App& command, CacheOptions& options);
// Options that make a model harder for KV formats, to test these.
void add_testing_options(CLI::App& command, CacheOptions& options);
// Where conversations are kept; empty stays the usual place.
CLI::Option* add_store_option(CLI::App& command, std::string& file);
void add_json_option(CLI::App& command, JsonOption& option);

// An option for the name of a file. An empty one, as an unset variable in a script gives, is refused: it must not stand
// for the default.
CLI::Option* add_file_option(CLI::App& command, const std::string& name, std::string& value,
                             const std::string& description);
// Refuses an empty value with `sentence`.
CLI::Validator not_empty(const std::string& sentence);

// For numbers with a fraction: CLI11's own range lets NaN pass.
CLI::Validator between(double low, double high);

// An option for a size with a suffix (see parse_size).
CLI::Option* add_size_option(CLI::App& command, const std::string& name, int64_t& value,
                             const std::string& description);
// The same for a number of 1 or more.
CLI::Option* add_count_option(CLI::App& command, const std::string& name, int64_t& value,
                              const std::string& description);

// For whole numbers: CLI11 takes the nearest that it can hold for a larger one, and the largest for -1.
CLI::Validator whole_number(uint64_t least, uint64_t most);

// An option for what random choices start from.
CLI::Option* add_seed_option(CLI::App& command, uint64_t& seed, const std::string& description);

}  // namespace octavo
