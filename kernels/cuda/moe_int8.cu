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
constexpr int kDownWarps = 16;            // at most
constexpr int kRounds = 2;                // groups of rows that a warp takes, all of them on their way at once
constexpr int kStagedInputs = 8192;       // columns, at most

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

// inner = silu(gate x) * (up x)
__global__ void __launch_bounds__(kGateUpWarps* kWarp, kBlocks) gate_up_kernel(Experts op) {
    extern __shared__ uint4 shared[];
    __shared__ float results[2][kRounds][kPairs][kRows];
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
    const int pieces = columns.pieces();
    const int staged_pieces = columns.staged / columns.piece;
    const int64_t first_row = int64_t{blockIdx.x} * (kRounds * kPairs * kRows);
    const auto row_of = [&](int step) { return first_row + (step / pieces * kPairs + warp / 2) * kRows; };
    float sums[kRows][1];
    run_steps(
        kRounds * pieces, stages, columns,
        [&](int step, unsigned char* stage) {
            if (row_of(step) < w.rows) fetch(slice_of(w, row_of(step), step % pieces, columns), stage, columns);
        },
        [&](int step) {
            const int piece = step % pieces;
            if (step > 0 && (pieces <= staged_pieces || piece % staged_pieces != 0)) return;
            __syncthreads();
            const int first = piece * columns.piece;
            stage_inputs(moe.x + token * moe.hidden + first, min(columns.staged, columns.all - first), inputs, 0,
                         threadIdx.x, kGateUpWarps * kWarp);
            __syncthreads();
        },
        [&](int step, const unsigned char* stage) {
            if (row_of(step) >= w.rows) return;
            const int piece = step % pieces;
            if (piece == 0) sums[0][0] = sums[1][0] = 0;
            const Slice slice = slice_of(w, row_of(step), piece, columns);
            const int first_segment = piece % staged_pieces * (columns.piece / kSegment);
            add_dots(w.type, slice, stage, columns, inputs, first_segment, sums);
            if (piece != pieces - 1) return;
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
                const float sum = warp_sum(sums[r][0]);
                if (lane == r) results[part][step / pieces][warp / 2][r] = w.scale * sum;
            }
        });
    __syncthreads();
    const int row = threadIdx.x;
    if (row >= kRounds * kPairs * kRows || first_row + row >= w.rows) return;
    inner_row(moe, token, slot)[first_row + row] =
        silu((&results[kGate][0][0][0])[row]) * (&results[kUp][0][0][0])[row];
}

// y += the weighted results of all slots, in their order. Warps take slots in turn. The choice of experts may be read
// at once: the kernel before has waited for it.
__global__ void __launch_bounds__(kDownWarps* kWarp) down_kernel(Experts op) {
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
    const int rows = kRounds * columns.rows();
    const int64_t first_row = int64_t{blockIdx.x} * rows;
    bool waited = false;
    for (int slot = warp; slot < moe.slots(); slot += warps) {
        if (!is_here(moe, token, slot)) continue;
        const DeviceMatrix w = matrix_of(moe, kDown, token, slot);
        Columns own = columns;
        own.all = static_cast<int>(w.cols);
        const int pieces = own.pieces();
        const auto row_of = [&](int step) { return first_row + step / pieces * columns.rows(); };
        float sums[kRows][1];
        run_steps(
            kRounds * pieces, stages, own,
            [&](int step, unsigned char* stage) {
                if (row_of(step) < w.rows) fetch(slice_of(w, row_of(step), step % pieces, own), stage, own);
            },
            [&](int step) {
                if (step > 0 && pieces == 1) return;
                if (!waited) await_previous();
                waited = true;
                __syncwarp();
                const int first = step % pieces * own.piece;
                stage_inputs(inner_row(moe, token, slot) + first, min(own.piece, own.all - first), inputs, 0, lane,
                             kWarp);
                __syncwarp();
            },
            [&](int step, const unsigned char* stage) {
                if (row_of(step) >= w.rows) return;
                const int piece = step % pieces;
                if (piece == 0) sums[0][0] = sums[1][0] = 0;
                add_dots(w.type, slice_of(w, row_of(step), piece, own), stage, own, inputs, 0, sums);
                if (piece != pieces - 1) return;
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    const float sum = w.scale * sum_of_row(sums[r][0], own.lanes);
                    const int row = step / pieces * own.rows() + lane / own.lanes * kRows + r;
                    if (lane % own.lanes == 0) results[slot * rows + row] = sum;
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

void run_gate_up(Experts& op, bool early, cudaStream_t stream) {
    const FewTokensMoe& moe = op.moe;
    op.gate_up = divide_columns(matrices_of(moe, {kGate, kUp}), kStagedInputs, kWarp, gate_up_bytes);
    const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(moe.inner_width(), kRounds * kPairs * kRows)),
                    static_cast<unsigned>(moe.slots()), static_cast<unsigned>(moe.tokens));
    launch(gate_up_kernel, grid, kGateUpWarps * kWarp, gate_up_bytes(op.gate_up), stream, early, op);
}

void run_down(Experts& op, bool early, cudaStream_t stream) {
    const FewTokensMoe& moe = op.moe;
    const int64_t width = moe.inner_width();  // fewer lanes to a row, where all would have nothing to do
    const int lanes = width <= 8 * kUnit ? 8 : width <= 16 * kUnit ? 16 : kWarp;
    int warps = std::min(kDownWarps, moe.slots());
    const auto block_bytes = [&](const Columns& columns) {
        const auto results = static_cast<int>(sizeof(float)) * moe.slots() * kRounds * columns.rows();
        return warps * down_warp_bytes(columns) + results;
    };
    op.down = divide_columns(matrices_of(moe, {kDown}), 0, lanes, block_bytes);
    while (warps > 1 && block_bytes(op.down) > shared_memory().of_block) --warps;
    const dim3 grid(static_cast<unsigned>(ceil_div(moe.hidden, kRounds * op.down.rows())),
                    static_cast<unsigned>(moe.tokens));
    launch(down_kernel, grid, warps * kWarp, block_bytes(op.down), stream, early, op);
}

}  // namespace

bool int8_reads(const Blocks& blocks) {
    return std::ranges::all_of(blocks.parts, [](const DeviceMatrix& w) { return reads(w); });
}

void run_int8_experts(const FewTokensMoe& op, const FewTokensWays& ways, cudaStream_t stream) {
    Experts experts = {op, {}, {}};
    run_gate_up(experts, ways.early, stream);
    run_down(experts, ways.early, stream);
}

void prepare_int8_experts() {
    const int most = shared_memory().of_block;
    (void)cudaFuncSetAttribute(gate_up_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most - 1024);
    (void)cudaFuncSetAttribute(down_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
}

}  // namespace octavo::cuda
