// octavo memory: what a token costs, how long a context fits, and what this model takes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/engine_setup.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/size_text.h"
#include "runtime/kv/kv_memory.h"
#include "runtime/memory_plan.h"

namespace octavo {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

struct Options {
    ModelOptions model;
    CacheOptions cache;
    JsonOption json;
};

struct SchemeRow {
    std::string scheme;
    int64_t bytes_per_token = 0;
    int64_t tokens_per_gib = 0;
    int64_t max_context = 0;  // tokens; 0 too where the scheme cannot store this model's rows
    bool supported = true;    // by the model's head_dim
};

// Each scheme with its own defaults for window and sinks.
std::vector<SchemeRow> scheme_rows(const Engine& engine, const SessionOptions& session, int64_t free_bytes) {
    const HybridConfig& config = engine.model().config;
    const KvShape shape = kv_shape(config);
    std::vector<SchemeRow> rows;
    for (const KvSchemeSpec& spec : kv_schemes()) {
        const KvSettings settings = default_kv_settings({spec.k, spec.v});
        SchemeRow row;
        row.scheme = spec.name;
        row.supported = static_cast<bool>(check_kv_settings(settings, shape, INT64_MAX));
        if (row.supported) {
            row.bytes_per_token = kv_bytes_per_token(shape, settings.scheme);
            row.tokens_per_gib = kv_tokens_in(kGiB, shape, settings.scheme);
            row.max_context = largest_context(engine.model(), session, settings, engine.info().memory, free_bytes);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string scheme_table(const std::vector<SchemeRow>& schemes, int head_dim) {
    std::string text =
        fmt::format("{:<8} {:>12} {:>14} {:>16}\n", "KV", "bytes/token", "tokens/GiB", "largest context");
    for (const SchemeRow& row : schemes) {
        if (row.supported)
            text += fmt::format("{:<8} {:>12} {:>14} {:>16}\n", row.scheme, group_digits(row.bytes_per_token),
                                group_digits(row.tokens_per_gib), group_digits(row.max_context));
        else
            text += fmt::format("{:<8} not for this model's head_dim of {}\n", row.scheme, head_dim);
    }
    return text;
}

// Checkpoints only come with the conversation: their line is a budget, not a need.
bool is_budget(const MemoryLine& line) { return line.kind == MemoryLineKind::checkpoints; }

std::string plan_table(const std::vector<MemoryLine>& plan) {
    const std::string total = "all together, at most";
    std::vector<std::string> names;
    size_t width = total.size();
    for (const MemoryLine& line : plan) {
        names.push_back(fmt::format("{}{}", memory_line_name(line.kind), is_budget(line) ? ", up to" : ""));
        width = std::max(width, names.back().size());
    }
    std::string text;
    for (size_t i = 0; i < plan.size(); ++i)
        text += fmt::format("{:<{}} {:>12}  {}\n", names[i], width, bytes_text(plan[i].committed_bytes), plan[i].where);
    return text + fmt::format("{:<{}} {:>12}\n", total, width, bytes_text(total_committed_bytes(plan)));
}

void print_tables(const Options& options, const Engine& engine, const std::vector<SchemeRow>& schemes,
                  const std::vector<MemoryLine>& plan, int64_t free_bytes) {
    const HybridConfig& config = engine.model().config;
    print_result(
        options.json,
        fmt::format("{}\n{} of memory are free; the model's context ends at {} tokens\n\n{}\nwith a conversation of {} "
                    "tokens in {}\n{}",
                    model_line(engine.model()), bytes_text(free_bytes), group_digits(config.context_length),
                    scheme_table(schemes, config.head_dim), group_digits(engine.info().context_length),
                    describe_kv_settings(engine.info().kv), plan_table(plan)));
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const Result<EngineOptions> engine_choice = engine_options(options.model, options.cache);
    if (!engine_choice) return fail(engine_choice.error());
    const Result<std::unique_ptr<Engine>> engine = start_engine(options.model, options.cache);
    if (!engine) return fail(engine.error());

    const EngineInfo& info = (*engine)->info();
    const auto free_bytes = static_cast<int64_t>(info.free_bytes);
    const std::vector<SchemeRow> schemes = scheme_rows(**engine, engine_choice->session, free_bytes);
    const std::vector<MemoryLine> plan =
        planned_memory((*engine)->model(), engine_choice->session, info.context_length, (*engine)->memory());
    print_tables(options, **engine, schemes, plan, free_bytes);
    nlohmann::json scheme_list = nlohmann::json::array();
    for (const SchemeRow& row : schemes)
        scheme_list.push_back({{"scheme", row.scheme},
                               {"bytes_per_token", row.bytes_per_token},
                               {"tokens_per_gib", row.tokens_per_gib},
                               {"max_context", row.max_context},
                               {"supported", row.supported}});
    nlohmann::json plan_list = nlohmann::json::array();
    for (const MemoryLine& line : plan)
        plan_list.push_back({{"line", memory_line_name(line.kind)},
                             {"bytes", line.logical_bytes},
                             {"committed_bytes", line.committed_bytes},
                             {"budget", is_budget(line)},
                             {"where", line.where}});
    return finish(options.json,
                  nlohmann::json{{"schemes", scheme_list}, {"plan", plan_list}, {"free_bytes", free_bytes}});
}

}  // namespace

RunCommand add_memory_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    add_model_options(command, options->model);
    add_cache_options(command, options->cache);
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
