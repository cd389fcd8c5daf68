// Products of weights of few bits with one to four tokens (int8_rows.cuh). A block stages the inputs once; its warps
// then take groups of rows in turn, as many blocks as run at once.
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/few_tokens.cuh"
#include "kernels/cuda/int8_rows.cuh"

namespace octavo::cuda {
namespace {

using namespace int8_rows;

constexpr int kWarps = 8;
constexpr int kStagedInputs = 8192;  // columns of all tokens together, at most

struct Products {
    FewTokens few;
    Columns columns;
    int groups;  // of rows, of all targets
};

int block_bytes(const Columns& columns, int tokens) {
    return Inputs::bytes(tokens, columns.staged) + kWarps * columns.warp_bytes();
}

// Of a multiprocessor; more tokens take more registers.
constexpr int blocks_at_once(int tokens) { return tokens == 1 ? kBlocks : kBlocks - 1; }

// tokens: room for so many; the last one stands for those that are not there.
template <int tokens>
__global__ void __launch_bounds__(kWarps* kWarp, blocks_at_once(tokens)) products_kernel(Products op) {
    extern __shared__ uint4 shared[];
    const FewTokens& few = op.few;
    const Columns& columns = op.columns;
    const Inputs inputs(shared, tokens, columns.staged);
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    auto* const stages =
        reinterpret_cast<unsigned char*>(shared) + Inputs::bytes(tokens, columns.staged) + warp * columns.warp_bytes();
    const int first_group = static_cast<int>(blockIdx.x) * kWarps;
    const int groups_at_once = static_cast<int>(gridDim.x) * kWarps;
    const auto group_of = [&](int round) { return first_group + warp + round * groups_at_once; };
    const auto first_row = [&](const FewTokens::Target& target, int group) {
        return (group - target.first_block) * columns.rows;
    };
    float sums[kRows][tokens];
    run_steps(
        ceil_div(op.groups - first_group, groups_at_once), stages, columns,
        [&](int round, int at) {
            const int group = group_of(round);
            if (group >= op.groups) return Slice{};
            const FewTokens::Target& target = target_of(few, group);
            return slice_of(target.w, first_row(target, group), at, columns);
        },
        [&](int round, int at) {
            if (!columns.stages(round, at)) return;
            if (round == 0 && at == 0) await_previous(), let_next_start();
            __syncthreads();
#pragma unroll
            for (int t = 0; t < tokens; ++t) {
                const float* const x = few.x + min(t, few.tokens - 1) * few.x_stride + at;
                stage_inputs(x, min(columns.staged, columns.all - at), inputs, t, threadIdx.x, kWarps * kWarp);
            }
            __syncthreads();
        },
        [&](int round, int at, const Slice& slice, const unsigned char* stage) {
            const FewTokens::Target& target = target_of(few, group_of(round));
            if (at == 0) {
#pragma unroll
                for (int i = 0; i < kRows * tokens; ++i) sums[i / tokens][i % tokens] = 0;
            }
            add_dots(target.w.type, slice, stage, columns, inputs, columns.segment(at), sums);
            if (at + columns.piece < columns.all) return;
            const int row = columns.lane_row();  // of the group
            float* const y = target.y + first_row(target, group_of(round)) + row;
#pragma unroll
            for (int i = 0; i < kRows * tokens; ++i) {
                const int r = i / tokens;
                const int t = i % tokens;
                const float sum = sum_of_row(sums[r][t], columns);
                if ((lane & (columns.lanes - 1)) != 0 || row + r >= slice.rows || t >= few.tokens) continue;
                float* const to = y + t * target.y_stride + r;
                *to = (target.accumulate ? *to : 0.0f) + target.w.scale * sum;
            }
        });
}

template <int tokens>
void run(const FewTokens& few, const FewTokensWays& ways, cudaStream_t stream) {
    Products op = {few, {}, 0};
    DeviceMatrix matrices[kMaxTargets];
    for (int i = 0; i < few.count; ++i) matrices[i] = few.targets[i].w;
    op.columns =
        divide_columns(ways.shared_memory, std::span(matrices, static_cast<size_t>(few.count)), kStagedInputs / tokens,
                       [](const Columns& columns) { return block_bytes(columns, tokens); });
    op.groups = static_cast<int>(share_out(op.few, op.columns.rows));
    const int bytes = block_bytes(op.columns, tokens);
    const int at_once =
        std::clamp(ways.shared_memory.of_multiprocessor / (bytes + kReservedOfBlock), 1, blocks_at_once(tokens));
    const int blocks = std::min(ceil_div(op.groups, kWarps), ways.multiprocessors * at_once);
    launch(products_kernel<tokens>, dim3(static_cast<unsigned>(blocks)), kWarps * kWarp, bytes, stream, ways.early, op);
}

}  // namespace

void run_int8_products(const FewTokens& op, const FewTokensWays& ways, cudaStream_t stream) {
    if (op.tokens == 1) return run<1>(op, ways, stream);
    if (op.tokens == 2) return run<2>(op, ways, stream);
    run<4>(op, ways, stream);
}

void prepare_int8_products(const SharedMemory& memory) {
    const auto allow = [&](auto kernel) {
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, memory.of_block);
    };
    allow(products_kernel<1>);
    allow(products_kernel<2>);
    allow(products_kernel<4>);
}

}  // namespace octavo::cuda
