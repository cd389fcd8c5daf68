// The feed-forward part of a few tokens where weights have few bits (int8_rows.cuh). Gate and up: half the warps of a
// block to each, of one slot. Down: a warp to a slot, a block to the same rows of all of them. Matrices of a block may
// be of different types.
#include <vector>

#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/int8_rows.cuh"
#include "kernels/cuda/moe_few.cuh"

namespace octavo::cuda {
namespace {

using namespace int8_rows;

constexpr int kGateUpWarps = 8;
constexpr int kPairs = kGateUpWarps / 2;  // of a warp for `gate` and one for `up`
constexpr int kDownWarps = 12;            // at most
constexpr int kGateUpRounds = 2;          // groups of rows that a warp takes, both on their way at once
constexpr int kDownRows = 8;              // of a block, or as many as a warp takes at a time
constexpr int kMostRows = kRows * kWarp / 4;
constexpr int kStagedInputs = 8192;  // columns, at most

struct Experts {
    FewTokensMoe moe;
    Columns gate_up, down;
};

int gate_up_bytes(const Columns& columns) {
    return Inputs::bytes(1, columns.staged) + kGateUpWarps * columns.warp_bytes();
}
__host__ __device__ int down_warp_bytes(const Columns& columns) {
    return Inputs::bytes(1, columns.staged) + columns.warp_bytes();
}

__host__ __device__ int down_rounds(const Columns& columns) { return max(1, kDownRows / columns.rows); }

// inner = silu(gate x) * (up x)
__global__ void __launch_bounds__(kGateUpWarps* kWarp, kBlocks) gate_up_kernel(Experts op) {
    extern __shared__ uint4 shared[];
    __shared__ float results[2][kGateUpRounds * kPairs * kMostRows];
    const FewTokensMoe& moe = op.moe;
    const Columns& columns = op.gate_up;
    const Inputs inputs(shared, 1, columns.staged);
    const int64_t token = blockIdx.z;
    const int slot = blockIdx.y;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const FfnPart part = warp % 2 == 0 ? kGate : kUp;
    await_previous();
    let_next_start();
    if (!is_here(moe, token, slot)) return;
    const DeviceMatrix w = matrix_of(moe, part, token, slot);
    auto* const stages =
        reinterpret_cast<unsigned char*>(shared) + Inputs::bytes(1, columns.staged) + warp * columns.warp_bytes();
    const int rows = columns.rows;
    const int64_t first_row = int64_t{blockIdx.x} * (kGateUpRounds * kPairs * rows);
    float sums[kRows][1];
    run_steps(
        kGateUpRounds, stages, columns,
        [&](int round, int at) { return slice_of(w, first_row + (round * kPairs + warp / 2) * rows, at, columns); },
        [&](int round, int at) {
            if (!columns.stages(round, at)) return;
            __syncthreads();
            stage_inputs(moe.x + token * moe.hidden + at, min(columns.staged, columns.all - at), inputs, 0, threadIdx.x,
                         kGateUpWarps * kWarp);
            __syncthreads();
        },
        [&](int round, int at, const Slice& slice, const unsigned char* stage) {
            if (at == 0) sums[0][0] = sums[1][0] = 0;
            add_dots(w.type, slice, stage, columns, inputs, columns.segment(at), sums);
            if (at + columns.piece < columns.all) return;
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const float sum = w.scale * sum_of_row(sums[r][0], columns);
                const int row = (round * kPairs + warp / 2) * rows + columns.lane_row() + r;
                if ((lane & (columns.lanes - 1)) == 0) results[part][row] = sum;
            }
        });
    __syncthreads();
    const int row = threadIdx.x;
    if (row >= kGateUpRounds * kPairs * rows || first_row + row >= w.rows) return;
    inner_row(moe, token, slot)[first_row + row] = silu(results[kGate][row]) * results[kUp][row];
}

// y += the weighted results of all slots, in their order. Warps take slots in turn. The choice of experts may be read
// at once: the kernel before has waited for it.
__global__ void __launch_bounds__(kDownWarps* kWarp, 2) down_kernel(Experts op) {
    extern __shared__ uint4 shared[];
    const FewTokensMoe& moe = op.moe;
    const Columns& columns = op.down;
    const int warps = blockDim.x / kWarp;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    auto* const memory = reinterpret_cast<unsigned char*>(shared) + warp * down_warp_bytes(columns);
    auto* const stages = memory + Inputs::bytes(1, columns.staged);
    auto* const results =  // [slots][rows]
        reinterpret_cast<float*>(reinterpret_cast<unsigned char*>(shared) + warps * down_warp_bytes(columns));
    const Inputs inputs(memory, 1, columns.staged);
    const int64_t token = blockIdx.y;
    const int rounds = down_rounds(columns);
    const int rows = rounds * columns.rows;
    const int64_t first_row = int64_t{blockIdx.x} * rows;
    bool waited = false;
    for (int slot = warp; slot < moe.slots(); slot += warps) {
        if (!is_here(moe, token, slot)) continue;
        const DeviceMatrix w = matrix_of(moe, kDown, token, slot);
        float sums[kRows][1];
        run_steps(
            rounds, stages, columns,
            [&](int round, int at) { return slice_of(w, first_row + round * columns.rows, at, columns); },
            [&](int round, int at) {
                if (!waited) await_previous();
                waited = true;
                if (!columns.stages(round, at) || at >= w.cols) return;
                __syncwarp();
                const auto count = static_cast<int>(min(w.cols - at, int64_t{columns.staged}));
                stage_inputs(inner_row(moe, token, slot) + at, count, inputs, 0, lane, kWarp);
                __syncwarp();
            },
            [&](int round, int at, const Slice& slice, const unsigned char* stage) {
                if (at == 0) sums[0][0] = sums[1][0] = 0;
                add_dots(w.type, slice, stage, columns, inputs, columns.segment(at), sums);
                if (at + columns.piece < w.cols) return;
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    const float sum = w.scale * sum_of_row(sums[r][0], columns);
                    const int row = round * columns.rows + columns.lane_row() + r;
                    if ((lane & (columns.lanes - 1)) == 0) results[slot * rows + row] = sum;
                }
            });
    }
    if (!waited) await_previous();
    __syncthreads();
    for (int row = threadIdx.x; row < rows && first_row + row < moe.hidden; row += blockDim.x) {
        float sum = 0;
        for (int slot = 0; slot < moe.slots(); ++slot) {
            if (!is_here(moe, token, slot)) continue;
            sum = fmaf(weight_of(moe, token, slot), results[slot * rows + row], sum);
        }
        moe.y[token * moe.hidden + first_row + row] += sum;
    }
}

// These parts of the blocks that are there.
std::vector<DeviceMatrix> matrices_of(const FewTokensMoe& op, std::initializer_list<FfnPart> parts) {
    std::vector<DeviceMatrix> matrices;
    for (const FfnPart part : parts) {
        if (op.top_k > 0) matrices.push_back(op.experts.parts[part]);
        if (op.has_shared) matrices.push_back(op.shared.parts[part]);
    }
    return matrices;
}

void run_gate_up(Experts& op, const FewTokensWays& ways, cudaStream_t stream) {
    const FewTokensMoe& moe = op.moe;
    op.gate_up = divide_columns(ways.shared_memory, matrices_of(moe, {kGate, kUp}), kStagedInputs, gate_up_bytes);
    const int64_t rows = kGateUpRounds * kPairs * op.gate_up.rows;
    const dim3 grid(static_cast<unsigned>(ceil_div(moe.inner_width(), rows)), static_cast<unsigned>(moe.slots()),
                    static_cast<unsigned>(moe.tokens));
    launch(gate_up_kernel, grid, kGateUpWarps * kWarp, gate_up_bytes(op.gate_up), stream, ways.early, op);
}

void run_down(Experts& op, const FewTokensWays& ways, cudaStream_t stream) {
    const FewTokensMoe& moe = op.moe;
    int warps = std::min(kDownWarps, moe.slots());
    const auto block_bytes = [&](const Columns& columns) {
        const int results = moe.slots() * down_rounds(columns) * columns.rows;
        return warps * down_warp_bytes(columns) + results * static_cast<int>(sizeof(float));
    };
    op.down = divide_columns(ways.shared_memory, matrices_of(moe, {kDown}), 0, block_bytes);
    while (warps > 1 && block_bytes(op.down) > ways.shared_memory.of_block) --warps;
    const dim3 grid(static_cast<unsigned>(ceil_div(moe.hidden, down_rounds(op.down) * op.down.rows)),
                    static_cast<unsigned>(moe.tokens));
    launch(down_kernel, grid, warps * kWarp, block_bytes(op.down), stream, ways.early, op);
}

}  // namespace

bool int8_reads(const Blocks& blocks) {
    return std::ranges::all_of(blocks.parts, [](const DeviceMatrix& w) { return reads(w); });
}

void run_int8_experts(const FewTokensMoe& op, const FewTokensWays& ways, cudaStream_t stream) {
    Experts experts = {op, {}, {}};
    run_gate_up(experts, ways, stream);
    run_down(experts, ways, stream);
}

void prepare_int8_experts(const SharedMemory& memory) {
    const auto allow = [](auto kernel, int bytes) {
        (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    };
    allow(gate_up_kernel, memory.of_block - 1024);  // which has some of its own
    allow(down_kernel, memory.of_block);
}

}  // namespace octavo::cuda
