// octavo memory: what a token costs, how long a context fits, and what this model takes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/engine_setup.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/size_text.h"
#include "kernels/base/memory_platform.h"
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
    int64_t max_context = 0;
};

// The longest context that the free memory holds beside what is needed at any length.
std::vector<SchemeRow> scheme_rows(const Engine& engine, const EngineOptions& options, int64_t free_bytes) {
    const HybridConfig& config = engine.model().config;
    const KvShape shape = kv_shape(config);
    SessionOptions empty = options.session;
    empty.checkpoint_budget_bytes = 0;
    const int64_t fixed =
        total_committed_bytes(planned_memory(engine.model(), empty, 0, engine.info().workspace_bytes));
    const int64_t room = std::max<int64_t>(0, free_bytes - fixed);
    std::vector<SchemeRow> rows;
    for (const KvSchemeSpec& spec : kv_schemes()) {
        const KvScheme scheme{spec.k, spec.v};
        const int64_t bytes = kv_bytes_per_token(shape, scheme);
        const bool free_of_charge = bytes == 0;  // a model without full attention
        const int64_t fits = free_of_charge ? config.context_length : kv_tokens_in(room, shape, scheme);
        rows.push_back({std::string(spec.name), bytes, kv_tokens_in(kGiB, shape, scheme),
                        std::min<int64_t>(config.context_length, fits)});
    }
    return rows;
}

void print_tables(const Options& options, const Engine& engine, const std::vector<SchemeRow>& schemes,
                  const std::vector<MemoryLine>& plan, int64_t free_bytes) {
    std::string text =
        fmt::format("{}\n{} of memory are free; the model's context ends at {} tokens\n\n", model_line(engine.model()),
                    bytes_text(free_bytes), group_digits(engine.model().config.context_length));
    text += fmt::format("{:<8} {:>12} {:>14} {:>16}\n", "KV", "bytes/token", "tokens/GiB", "largest context");
    for (const SchemeRow& row : schemes)
        text += fmt::format("{:<8} {:>12} {:>14} {:>16}\n", row.scheme, group_digits(row.bytes_per_token),
                            group_digits(row.tokens_per_gib), group_digits(row.max_context));
    text += fmt::format("\nwith a conversation of {} tokens in {}\n", group_digits(engine.info().context_length),
                        engine.info().scheme);
    for (const MemoryLine& line : plan)
        text += fmt::format("{:<32} {:>12}  {}\n", memory_line_name(line.kind), bytes_text(line.committed_bytes),
                            line.where);
    text += fmt::format("{:<32} {:>12}\n", "all together", bytes_text(total_committed_bytes(plan)));
    print_result(options.json, text);
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const auto free_bytes = static_cast<int64_t>(available_memory_bytes());  // before the engine takes its share
    const Result<EngineOptions> engine_choice = engine_options(options.model, options.cache);
    if (!engine_choice) return fail(engine_choice.error());
    const Result<std::unique_ptr<Engine>> engine = start_engine(options.model, options.cache);
    if (!engine) return fail(engine.error());

    const std::vector<SchemeRow> schemes = scheme_rows(**engine, *engine_choice, free_bytes);
    const EngineInfo& info = (*engine)->info();
    const std::vector<MemoryLine> plan =
        planned_memory((*engine)->model(), engine_choice->session, info.context_length, info.workspace_bytes);
    print_tables(options, **engine, schemes, plan, free_bytes);
    nlohmann::json scheme_list = nlohmann::json::array();
    for (const SchemeRow& row : schemes)
        scheme_list.push_back({{"scheme", row.scheme},
                               {"bytes_per_token", row.bytes_per_token},
                               {"tokens_per_gib", row.tokens_per_gib},
                               {"max_context", row.max_context}});
    nlohmann::json plan_list = nlohmann::json::array();
    for (const MemoryLine& line : plan)
        plan_list.push_back({{"line", memory_line_name(line.kind)},
                             {"bytes", line.logical_bytes},
                             {"committed_bytes", line.committed_bytes},
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
