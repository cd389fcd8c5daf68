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
    int64_t groups;  // of rows, of all targets
};

int block_bytes(const Columns& columns, int tokens) {
    return Inputs::bytes(tokens, columns.staged) + kWarps * columns.warp_bytes();
}

// tokens: room for so many; the last one stands for those that are not there.
template <int tokens>
__global__ void __launch_bounds__(kWarps* kWarp, kBlocks) products_kernel(Products op) {
    extern __shared__ uint4 shared[];
    const Columns& columns = op.columns;
    const Inputs inputs(shared, tokens, columns.staged);
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    auto* const stages =
        reinterpret_cast<unsigned char*>(shared) + Inputs::bytes(tokens, columns.staged) + warp * columns.warp_bytes();
    const int pieces = columns.pieces();
    const int staged_pieces = columns.staged / columns.piece;
    const int64_t first_group = int64_t{blockIdx.x} * kWarps;
    const int64_t groups_at_once = int64_t{gridDim.x} * kWarps;
    const auto rounds = static_cast<int>(ceil_div(op.groups - first_group, groups_at_once));
    const auto group_of = [&](int step) { return first_group + warp + step / pieces * groups_at_once; };
    const auto slice_in = [&](const FewTokens::Target& target, int64_t group, int piece) {
        return slice_of(target.w, (group - target.first_block) * kRows, piece, columns);
    };
    float sums[kRows][tokens];
    run_steps(
        rounds * pieces, stages, columns,
        [&](int step, unsigned char* stage) {
            const int64_t group = group_of(step);
            if (group >= op.groups) return;
            fetch(slice_in(target_of(op.few, group), group, step % pieces), stage, columns);
        },
        [&](int step) {
            const int piece = step % pieces;
            if (step > 0 && (pieces <= staged_pieces || piece % staged_pieces != 0)) return;
            if (step == 0) await_previous(), let_next_start();
            __syncthreads();
            const int first = piece * columns.piece;
#pragma unroll
            for (int t = 0; t < tokens; ++t) {
                const float* const x = op.few.x + min(t, op.few.tokens - 1) * op.few.x_stride + first;
                stage_inputs(x, min(columns.staged, columns.all - first), inputs, t, threadIdx.x, kWarps * kWarp);
            }
            __syncthreads();
        },
        [&](int step, const unsigned char* stage) {
            const int64_t group = group_of(step);
            if (group >= op.groups) return;
            const FewTokens::Target& target = target_of(op.few, group);
            const int piece = step % pieces;
            if (piece == 0) {
#pragma unroll
                for (int i = 0; i < kRows * tokens; ++i) sums[i / tokens][i % tokens] = 0;
            }
            const Slice slice = slice_in(target, group, piece);
            const int first_segment = piece % staged_pieces * (columns.piece / kSegment);
            add_dots(target.w.type, slice, stage, columns, inputs, first_segment, sums);
            if (piece != pieces - 1) return;
            const int64_t first_row = (group - target.first_block) * kRows;
#pragma unroll
            for (int i = 0; i < kRows * tokens; ++i) {
                const int r = i / tokens;
                const int t = i % tokens;
                const float sum = warp_sum(sums[r][t]);
                if (lane != 0 || r >= slice.rows || t >= op.few.tokens) continue;
                float* const y = target.y + t * target.y_stride + first_row + r;
                *y = (target.accumulate ? *y : 0.0f) + target.w.scale * sum;
            }
        });
}

template <int tokens>
void run(const FewTokens& few, const FewTokensWays& ways, cudaStream_t stream) {
    Products op = {few, {}, 0};
    DeviceMatrix matrices[kMaxTargets];
    for (int i = 0; i < few.count; ++i) matrices[i] = few.targets[i].w;
    op.columns = divide_columns(std::span(matrices, static_cast<size_t>(few.count)), kStagedInputs / tokens, kWarp,
                                [](const Columns& columns) { return block_bytes(columns, tokens); });
    op.groups = share_out(op.few, kRows);
    const int bytes = block_bytes(op.columns, tokens);
    const int at_once = std::clamp(shared_memory().of_multiprocessor / (bytes + kReservedOfBlock), 1, kBlocks);
    const int64_t blocks = std::min<int64_t>(ceil_div<int64_t>(op.groups, kWarps), ways.multiprocessors * at_once);
    launch(products_kernel<tokens>, dim3(static_cast<unsigned>(blocks)), kWarps * kWarp, bytes, stream, ways.early, op);
}

}  // namespace

void run_int8_products(const FewTokens& op, const FewTokensWays& ways, cudaStream_t stream) {
    if (op.tokens == 1) return run<1>(op, ways, stream);
    if (op.tokens == 2) return run<2>(op, ways, stream);
    run<4>(op, ways, stream);
}

void prepare_int8_products() {
    const int most = shared_memory().of_block;
    const auto allow = [&](auto kernel) {
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    };
    allow(products_kernel<1>);
    allow(products_kernel<2>);
    allow(products_kernel<4>);
}

}  // namespace octavo::cuda
