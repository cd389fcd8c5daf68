// octavo bench: prefill and decode speed, and the share of the memory's bandwidth that decode reaches.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/engine_setup.h"
#include "app/kv_choices.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/size_text.h"
#include "runtime/measure/bandwidth.h"
#include "runtime/measure/speed.h"
#include "runtime/measure/traffic.h"

namespace octavo {
namespace {

struct Options {
    ModelOptions model;
    CacheOptions cache;  // the context and what is done to the channels; the rest is in `choices`
    KvChoices choices;
    JsonOption json;
    int64_t prefill_tokens = 512;
    int64_t decode_tokens = 128;
    std::vector<std::string> depths = {"0", "8k"};
    int repeat = 3;
};

struct Row {
    KvSettings kv;
    int64_t depth = 0;
    SpeedReport speed;
    double memory_share = 0;  // of the bandwidth of memory
    double reads_share = 0;  // of the bandwidth of a buffer as large as what a token reads: cached, where that is small
};

// What was not measured is 0 in a report; a person sees no figure there, and a program null.
template <class Number>
nlohmann::json figure_json(Number value) {
    return value > 0 ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json run_json(const Row& row, const KvShape& shape) {
    return {{"scheme", kv_scheme_name(row.kv.scheme)},
            {"window", row.kv.window},
            {"sinks", row.kv.sinks},
            {"kv_bytes_per_token", kv_bytes_per_token(shape, row.kv.scheme)},
            {"depth", row.depth},
            {"prefill_tokens_per_s", figure_json(row.speed.prefill_tokens_per_s)},
            {"decode_tokens_per_s", figure_json(row.speed.decode_tokens_per_s)},
            {"bytes_per_decoded_token", figure_json(row.speed.bytes_per_token)},
            {"gb_per_s", figure_json(row.speed.gb_per_s)},
            {"bandwidth_share", figure_json(row.memory_share)},
            {"same_size_bandwidth_share", figure_json(row.reads_share)}};
}

// What reads a token's bytes: one memory, or two where a GPU leaves experts to the CPU.
struct Readers {
    ReadBandwidth memory;
    std::optional<ReadBandwidth> cpu;
    double cpu_share = 0;  // of the experts that a token reads

    double gb_per_s(const Model& model, int64_t bytes_per_token) const {
        if (!cpu) return memory.gb_per_s;
        const double on_cpu = cpu_share * static_cast<double>(decode_expert_bytes(model));
        const auto all = static_cast<double>(bytes_per_token);
        return all / ((all - on_cpu) / memory.gb_per_s + on_cpu / cpu->gb_per_s);
    }
};

Result<Readers> measure_readers(Engine& engine, int threads) {
    Readers readers;
    const Result<ReadBandwidth> memory = measure_read_bandwidth(engine, threads);
    if (!memory) return memory.error();
    readers.memory = *memory;
    if (engine.info().split_layers == 0) return readers;
    const Result<ReadBandwidth> cpu = measure_read_bandwidth(threads);
    if (!cpu) return cpu.error();
    readers.cpu = *cpu;
    const EngineMemory now = engine.memory();
    readers.cpu_share = static_cast<double>(now.host_expert_bytes) /
                        static_cast<double>(now.host_expert_bytes + now.device_expert_bytes);
    return readers;
}

Result<Row> row_of(Engine& engine, const KvSettings& kv, int64_t depth, const SpeedReport& speed,
                   const Options& options, const Readers& readers) {
    Row row = {kv, depth, speed, 0, 0};
    if (speed.bytes_per_token == 0) return row;
    row.memory_share = speed.gb_per_s / readers.gb_per_s(engine.model(), speed.bytes_per_token);
    if (readers.cpu) {
        row.reads_share = row.memory_share;
        return row;
    }
    const Result<ReadBandwidth> same_size =
        measure_read_bandwidth(engine, options.model.threads, speed.bytes_per_token);
    if (!same_size) return same_size.error();
    row.reads_share = speed.gb_per_s / same_size->gb_per_s;
    return row;
}

std::string reader_of(const ReadBandwidth& bandwidth) {
    return bandwidth.threads == 0 ? "the GPU"
                                  : fmt::format("{} thread{}", bandwidth.threads, bandwidth.threads == 1 ? "" : "s");
}

std::string figure_text(double value, int digits, const char* unit = "") {
    return value > 0 ? fmt::format("{:.{}f}{}", value, digits, unit) : "-";
}

std::string line_of(const Row& row) {
    return fmt::format("{:>9}  {:<14} {:>6} {:>14} {:>13} {:>8} {:>10} {:>15}\n", row.depth,
                       kv_scheme_name(row.kv.scheme), row.kv.window, figure_text(row.speed.prefill_tokens_per_s, 1),
                       figure_text(row.speed.decode_tokens_per_s, 1), figure_text(row.speed.gb_per_s, 2),
                       figure_text(100 * row.memory_share, 0, "%"), figure_text(100 * row.reads_share, 0, "%"));
}

// Prints the lines of each depth as soon as they are measured.
Result<std::vector<Row>> measure(Engine& engine, const Options& options, const std::vector<KvSettings>& settings,
                                 const Readers& readers) {
    print_result(options.json,
                 fmt::format("{:>9}  {:<14} {:>6} {:>14} {:>13} {:>8} {:>10} {:>15}\n", "depth", "KV", "window",
                             "prefill tok/s", "decode tok/s", "GB/s", "of memory", "of same size"));
    std::vector<Row> rows;
    for (const std::string& text : options.depths) {
        const Result<int64_t> depth = parse_size(text);
        if (!depth) return depth.error();
        Job job;
        const SpeedRequest request = {*depth, options.prefill_tokens, options.decode_tokens, options.repeat};
        const Result<std::vector<SpeedReport>> speeds = measure_speed(engine, request, settings, job);
        if (!speeds) return speeds.error();
        for (size_t i = 0; i < settings.size(); ++i) {
            const Result<Row> row = row_of(engine, settings[i], *depth, (*speeds)[i], options, readers);
            if (!row) return row.error();
            rows.push_back(*row);
            print_result(options.json, line_of(*row));
        }
    }
    print_result(options.json,
                 "of memory: of the bandwidth that memory gives; above 100% the weights stay in the caches.\n"
                 "of same size: of what reading a buffer as large as a token's weights, KV and state gives.\n");
    return rows;
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const Result<std::vector<KvSettings>> settings = kv_settings_of(options.choices, options.cache.context);
    if (!settings) return fail(settings.error());
    const Result<std::unique_ptr<Engine>> engine = start_engine(options.model, options.cache);
    if (!engine) return fail(engine.error());
    const Model& model = (*engine)->model();
    const EngineInfo& info = (*engine)->info();
    const KvShape shape = kv_shape(model.config);
    if (const Status fits = check_all_kv_settings(*settings, shape, info.context_length); !fits)
        return fail(fits.error());
    const Result<Readers> readers = measure_readers(**engine, options.model.threads);
    if (!readers) return fail(readers.error());
    const ReadBandwidth& bandwidth = readers->memory;
    const std::string also =
        readers->cpu ? fmt::format(", at {:.1f} GB/s with {}", readers->cpu->gb_per_s, reader_of(*readers->cpu)) : "";

    print_result(options.json, fmt::format("{}\n{}; prefill of {} tokens, decode of {}, median of {}\n"
                                           "memory reads at {:.1f} GB/s with {}{}; a token reads {} of weights\n\n",
                                           model_line(model), info.backend, options.prefill_tokens,
                                           options.decode_tokens, options.repeat, bandwidth.gb_per_s,
                                           reader_of(bandwidth), also, bytes_text(decode_weight_bytes(model))));
    const Result<std::vector<Row>> rows = measure(**engine, options, *settings, *readers);
    if (!rows) return fail(rows.error());
    nlohmann::json runs = nlohmann::json::array();
    for (const Row& row : *rows) runs.push_back(run_json(row, shape));
    return finish(options.json, nlohmann::json{{"runs", runs},
                                               {"model", model.name},
                                               {"backend", info.backend},
                                               {"equalise", kv_equalise_name(info.equalise)},
                                               {"device", info.device},
                                               {"threads", bandwidth.threads},
                                               {"prefill_tokens", options.prefill_tokens},
                                               {"decode_tokens", options.decode_tokens},
                                               {"repeat", options.repeat},
                                               {"weight_bytes_per_token", decode_weight_bytes(model)},
                                               {"read_bandwidth_gb_per_s", bandwidth.gb_per_s}});
}

}  // namespace

RunCommand add_bench_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    options->choices.schemes = {"f16"};
    add_size_option(command, "-p,--prefill", options->prefill_tokens, "Tokens to read; 0 leaves it out (default: 512)");
    add_size_option(command, "-n,--decode", options->decode_tokens, "Tokens to write; 0 leaves it out (default: 128)");
    command.add_option("--depth", options->depths, "Tokens in the context before (default: 0,8k)")
        ->type_name("LIST")
        ->delimiter(',');
    command.add_option("--repeat", options->repeat, "Measurements of each; the median counts")
        ->type_name("N")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    add_model_options(command, options->model);
    add_kv_choices(command, options->choices);
    add_channel_options(command, options->cache);
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
