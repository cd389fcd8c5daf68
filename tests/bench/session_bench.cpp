// A long conversation of the bundled model on the GPU: how long changes of the cache's scheme take in the middle of it,
// and what the memory plan says against what the driver says is gone.
//
//   session_bench [tokens of the conversation that changes, default 200000; 0: none]
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "kernels/cuda/cuda.h"
#include "models/bundled/bundled.h"
#include "models/hybrid/placed_weights.h"
#include "models/model.h"
#include "runtime/engine.h"
#include "runtime/memory_plan.h"
#include "runtime/session.h"

namespace octavo {
namespace {

constexpr double kMiB = 1 << 20;

struct Machine {
    std::unique_ptr<Backend> backend;
    PlacedWeights weights;
    std::unique_ptr<Forward> forward;
};

bool start(const Model& model, int64_t budget_bytes, Machine& machine) {
    Result<std::unique_ptr<Backend>> backend = make_cuda_backend({.budget_bytes = budget_bytes});
    if (!backend) return fmt::print("{}\n", backend.error().message), false;
    machine.backend = std::move(*backend);
    Result<PlacedWeights> weights = place_weights(model.config, model.weights, *machine.backend);
    if (!weights) return fmt::print("{}\n", weights.error().message), false;
    machine.weights = std::move(*weights);
    Result<Forward> forward = Forward::create(model.config, machine.weights.weights, *machine.backend, 512);
    if (!forward) return fmt::print("{}\n", forward.error().message), false;
    machine.forward = std::make_unique<Forward>(std::move(*forward));
    return true;
}

KvSettings settings_of(const char* scheme) { return default_kv_settings(*parse_kv_scheme(scheme)); }

std::vector<int32_t> text(int64_t tokens) {
    std::vector<int32_t> ids;
    uint32_t state = 7;
    for (int64_t i = 0; i < tokens; ++i) {
        state = state * 1664525u + 1013904223u;
        ids.push_back(static_cast<int32_t>(300 + (state >> 8) % 7000));
    }
    return ids;
}

std::unique_ptr<Session> session(const Model& model, Machine& machine, const char* scheme) {
    SessionOptions options;
    options.kv = settings_of(scheme);
    Result<std::unique_ptr<Session>> created = Session::create(model.config, *machine.forward, options);
    if (!created) return fmt::print("{}\n", created.error().message), nullptr;
    return std::move(*created);
}

bool read(Session& session, int64_t tokens) {
    Job job;
    const auto started = std::chrono::steady_clock::now();
    const Result<PrefillReport> report = session.prefill(text(tokens), {}, job);
    if (!report) return fmt::print("  {}\n", report.error().message), false;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    fmt::print("  {} tokens read in {:.2f} s\n", tokens, seconds);
    return true;
}

void time_changes(const Model& model, int64_t tokens) {
    Machine machine;
    if (!start(model, 0, machine)) return;
    const std::unique_ptr<Session> long_one = session(model, machine, "f16");
    if (long_one == nullptr || !read(*long_one, tokens)) return;
    std::string before = "f16";
    for (const char* scheme : {"q8_0", "q4_0", "q6_0", "q2k", "kivi2", "bf16", "q2k", "f16", "q4_0"}) {
        Job job;
        const auto started = std::chrono::steady_clock::now();
        const KvChange change = long_one->change_kv(settings_of(scheme), job);
        (void)machine.backend->finish();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
        fmt::print("change {} -> {} at {} tokens: {:.3f} s{}\n", before, scheme, tokens, seconds,
                   change.outcome == KvChangeOutcome::changed ? "" : " FAILED");
        before = scheme;
    }
}

void compare_memory(const std::shared_ptr<const Model>& model, const char* scheme, int64_t tokens, int64_t budget_mib) {
    fmt::print("{}, {} tokens, budget {} MiB\n", scheme, tokens, budget_mib);
    Result<std::unique_ptr<Backend>> other = make_cuda_backend({});  // counts what is free on the device
    if (!other) return;
    (void)(*other)->finish();
    const auto free_before = static_cast<double>((*other)->memory().free_bytes());
    EngineOptions options;
    options.device = DeviceChoice::cuda;
    options.gpu_budget_bytes = budget_mib << 20;
    options.session.kv = settings_of(scheme);
    const Result<std::unique_ptr<Engine>> engine = Engine::create(model, options);
    if (!engine) return fmt::print("  {}\n", engine.error().message);
    const EngineMemory& place = (*engine)->info().memory;
    const std::vector<MemoryLine> planned = planned_memory(*model, options.session, tokens + 2, place);
    (void)(*engine)->call("a", [&](Session& session) -> Status {
        if (!read(session, tokens) || !session.decode(400) || !session.decode(401)) return {};
        const std::vector<MemoryLine> lines = memory_plan(*model, session, place);
        const double gone = free_before - static_cast<double>((*other)->memory().free_bytes());
        for (const auto& [name, bytes] : {std::pair("planned before", committed_bytes_at("gpu", planned)),
                                          std::pair("the lines now", committed_bytes_at("gpu", lines))}) {
            fmt::print("  {}: {:.2f} MiB, gone {:.2f} MiB: {:+.2f}%\n", name, static_cast<double>(bytes) / kMiB,
                       gone / kMiB, 100 * (gone / static_cast<double>(bytes) - 1));
        }
        fmt::print("  scratch {:.2f} MiB, code of the kernels and the driver's rounding {:.2f} MiB\n",
                   static_cast<double>(place.scratch_bytes) / kMiB, static_cast<double>(place.code_bytes) / kMiB);
        return {};
    });
}

int run(int64_t tokens) {
    Result<std::shared_ptr<const Model>> model = open_model(bundled_model(), "bundled");
    if (!model) return 1;
    compare_memory(*model, "f16", 4096, 8192);
    compare_memory(*model, "f16", 65536, 1024);
    compare_memory(*model, "q8_0", 131072, 2048);
    compare_memory(*model, "q4_0", 262000, 768);
    compare_memory(*model, "q2k", 200000, 512);
    compare_memory(*model, "f16", 262000, 512);
    compare_memory(*model, "q8_0", 4096, 32);
    if (tokens > 0) time_changes(**model, tokens);
    return 0;
}

}  // namespace
}  // namespace octavo

int main(int count, char** arguments) { return octavo::run(count > 1 ? std::atoll(arguments[1]) : 200000); }
