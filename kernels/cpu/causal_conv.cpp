// The causal convolution: channels are independent, so each task takes some of them over all tokens, with their state.
#include <algorithm>

#include "kernels/cpu/cpu_backend.h"

namespace octavo {
namespace {

// Whole cache lines, and enough work for a task: a single token is best done by the caller alone.
constexpr int kChannelStep = 64;
constexpr int64_t kValuesPerTask = 4096;

}  // namespace

void CpuBackend::causal_conv(const CausalConv& op) {
    if (op.tokens == 0) return;
    const int64_t wanted = kValuesPerTask / op.tokens;
    const int channels_per_task = static_cast<int>(std::max<int64_t>(wanted / kChannelStep, 1)) * kChannelStep;
    pool_.run((op.channels + channels_per_task - 1) / channels_per_task, [&](int task, int worker) {
        const int first = task * channels_per_task;
        isa_.convolve_channels({
            .tokens = op.tokens,
            .channels = std::min(channels_per_task, op.channels - first),
            .kernel = op.kernel,
            .stride = op.channels,
            .x = op.x + first,
            .weight = op.weight + int64_t{first} * op.kernel,
            .state = op.state + first,
            .y = op.y + first,
            .scratch = task_scratch(worker),
        });
    });
}

}  // namespace octavo
