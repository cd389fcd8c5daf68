#include "runtime/split_setup.h"

#include <algorithm>
#include <utility>

#include "kernels/placed_ffn.h"
#include "kernels/split_backend.h"

namespace octavo {
namespace {

// A conversation should not push experts out with so many of its tokens.
constexpr int64_t kLeftTokens = 4096;

// The largest expert of a model, as a device holds it; 0: it has none.
int64_t expert_bytes(const Model& model) {
    int64_t most = 0;
    for (const LayerWeights& layer : model.weights.layers)
        most = std::max(most, placed_ffn_distance(layer.ffn.experts));
    return most;
}

}  // namespace

Result<SharedBackend> share_with_cpu(std::unique_ptr<Backend> device, const Model& model, int64_t slice_bytes,
                                     int threads, Yielding experts_yield) {
    std::unique_ptr<Backend> cpu = make_cpu_backend(threads, detect_cpu_isa());
    if (cpu == nullptr) return Error{ErrorKind::memory, "There is no memory for the CPU's workspace."};
    const int64_t cpu_scratch = cpu->own_bytes().scratch;
    const int64_t expert = expert_bytes(model);
    const int64_t layer = model.config.experts * expert;
    SplitOptions options;
    options.hidden = model.config.hidden;
    options.experts = model.config.experts;
    options.slice_bytes = std::max(expert, std::min(layer, slice_bytes));
    options.threads = threads;
    options.experts_yield = std::move(experts_yield);
    Result<std::unique_ptr<Backend>> split = make_split_backend(std::move(device), std::move(cpu), options);
    if (!split) return split.error();
    return SharedBackend{std::move(*split), split_host_bytes(options) + cpu_scratch};
}

int64_t room_for_experts(const Model& model, const SessionOptions& options, int64_t context_length,
                         const EngineMemory& engine, int64_t free_bytes) {
    const int64_t tokens = std::min(kLeftTokens, context_length);
    for (const MemoryLine& line : planned_memory(model, options, tokens, engine)) {
        if (is_of_conversation(line.kind) && line.where == engine.place) free_bytes -= line.committed_bytes;
    }
    return free_bytes;
}

}  // namespace octavo
