// The feed-forward part of a few tokens: every chosen expert's rows are read where they lie. Weights of few bits:
// moe_int8.cu.
#include <algorithm>

#include "kernels/cuda/int8_rows.cuh"
#include "kernels/cuda/moe_few.cuh"
#include "kernels/cuda/nvfp4_rows.cuh"

namespace octavo::cuda {
namespace {

constexpr int kMaxWarps = 16;     // of a block
constexpr int kRowsTogether = 4;  // share what is loaded of x, where there are enough of them

// ---- every type ----

// inner = silu(gate x) * (up x). Two warps to `rows` rows, one of them for each matrix.
constexpr int kPairs = 2;
template <WeightTypes types, int rows>
__global__ void __launch_bounds__(2 * kPairs * kWarp) few_gate_up_kernel(FewTokensMoe op) {
    __shared__ float parts[2 * kPairs][rows];
    const int64_t token = blockIdx.z;
    const int slot = blockIdx.y;
    const int warp = threadIdx.x / kWarp;
    const int lane = threadIdx.x % kWarp;
    const int64_t first_row = (int64_t{blockIdx.x} * kPairs + warp / 2) * rows;
    if (!is_here(op, token, slot)) return;
    const DeviceMatrix w = matrix_of(op, warp % 2 == 0 ? kGate : kUp, token, slot);
    if (first_row < w.rows) {
        with_weight_type<types>(w.type, [&](auto type) {
            float sums[rows][1];
            row_dots<decltype(type)::value>(w, first_row, op.x + token * op.hidden, op.hidden, sums);
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                if (lane == r) parts[warp][r] = w.scale * sums[r][0];
            }
        });
    }
    __syncthreads();
    if (warp % 2 == 0 && lane < rows && first_row + lane < w.rows) {
        inner_row(op, token, slot)[first_row + lane] = silu(parts[warp][lane]) * parts[warp + 1][lane];
    }
}

// y += the weighted results of all slots, in their order. Warps take slots in turn, all of the same `rows` rows.
template <WeightTypes types, int rows>
__global__ void __launch_bounds__(kMaxWarps* kWarp) few_down_kernel(FewTokensMoe op) {
    extern __shared__ float parts[];  // [slots][rows]
    const int64_t token = blockIdx.y;
    const int lane = threadIdx.x % kWarp;
    const int64_t first_row = int64_t{blockIdx.x} * rows;
    for (int slot = threadIdx.x / kWarp; slot < op.slots(); slot += blockDim.x / kWarp) {
        if (!is_here(op, token, slot)) continue;
        const DeviceMatrix w = matrix_of(op, kDown, token, slot);
        with_weight_type<types>(w.type, [&](auto type) {
            float sums[rows][1];
            row_dots<decltype(type)::value>(w, first_row, inner_row(op, token, slot), 0, sums);
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                if (lane == r) parts[slot * rows + r] = w.scale * sums[r][0];
            }
        });
    }
    __syncthreads();
    if (threadIdx.x >= rows || first_row + threadIdx.x >= op.hidden) return;
    float sum = 0;
    for (int slot = 0; slot < op.slots(); ++slot) {
        if (!is_here(op, token, slot)) continue;
        sum = fmaf(weight_of(op, token, slot), parts[slot * rows + threadIdx.x], sum);
    }
    op.y[token * op.hidden + first_row + threadIdx.x] += sum;
}

template <WeightTypes types, int rows>
void launch_gate_up(const FewTokensMoe& op, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(ceil_div<int64_t>(op.inner_width(), kPairs * rows)),
                    static_cast<unsigned>(op.slots()), static_cast<unsigned>(op.tokens));
    few_gate_up_kernel<types, rows><<<grid, 2 * kPairs * kWarp, 0, stream>>>(op);
}

template <WeightTypes types, int rows>
void launch_down(const FewTokensMoe& op, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(ceil_div(op.hidden, rows)), static_cast<unsigned>(op.tokens));
    const auto threads = static_cast<unsigned>(std::min(kMaxWarps, op.slots()) * kWarp);
    const auto shared_bytes = static_cast<size_t>(op.slots() * rows) * sizeof(float);
    few_down_kernel<types, rows><<<grid, threads, shared_bytes, stream>>>(op);
}

// ---- NVFP4 on tensor cores: a block to 16 rows of a token ----

constexpr int kGateWarps = 4;  // and as many for `up`
constexpr int kDownWarps = 16;

// inner = silu(gate x) * (up x) * the slot's weight * the scale of its down matrix. All blocks of a token run at once.
__global__ void __launch_bounds__(2 * kGateWarps * kWarp, 3) nvfp4_gate_up_kernel(FewTokensMoe op) {
    __shared__ nvfp4::Staged<kGateWarps, 1> staged;
    __shared__ float parts[2][kGateWarps][nvfp4::kRows][1];
    const int64_t token = blockIdx.z;
    const int slot = blockIdx.y;
    const int warp = threadIdx.x / kWarp % kGateWarps;
    const FfnPart which = threadIdx.x / kWarp < kGateWarps ? kGate : kUp;
    const int64_t first_row = int64_t{blockIdx.x} * nvfp4::kRows;
    if (!is_here(op, token, slot)) return;
    const DeviceMatrix w = matrix_of(op, which, token, slot);
    if (first_row >= w.rows) return;
    const float up_scale = matrix_of(op, kUp, token, slot).scale;
    const float factor = up_scale * matrix_of(op, kDown, token, slot).scale * weight_of(op, token, slot);
    float sums[1][4] = {};
    nvfp4::add_chunks(
        op.hidden / nvfp4::kColumns, warp, staged,
        [&](int chunk, int) { return nvfp4::load_chunk(w, first_row, int64_t{chunk} * nvfp4::kColumns); },
        [&](int group, int, float(&x)[8]) {
            inputs_at<true>(op.x + token * op.hidden, int64_t{group} * 8, op.hidden, x);
        },
        sums);
    nvfp4::keep_sums(sums[0], parts[which][warp]);
    __syncthreads();
    const int row = threadIdx.x;
    if (row >= nvfp4::kRows || first_row + row >= w.rows) return;
    const float g = w.scale * nvfp4::total<kGateWarps>(parts[kGate], row, 0);  // of a warp of `gate`
    inner_row(op, token, slot)[first_row + row] = silu(g) * nvfp4::total<kGateWarps>(parts[kUp], row, 0) * factor;
}

// The matrices of all slots side by side are one. A slot whose expert is elsewhere stands there with the first one that
// is here, and inputs of zero.
__global__ void __launch_bounds__(kDownWarps* kWarp) nvfp4_down_kernel(FewTokensMoe op) {
    __shared__ nvfp4::Staged<kDownWarps, 1> staged;
    __shared__ float parts[kDownWarps][nvfp4::kRows][1];
    const int64_t token = blockIdx.y;
    const int64_t first_row = int64_t{blockIdx.x} * nvfp4::kRows;
    const int warp = threadIdx.x / kWarp;
    const int expert_chunks = static_cast<int>(op.top_k > 0 ? op.experts.parts[kDown].cols / nvfp4::kColumns : 0);
    const int shared_chunks = static_cast<int>(op.has_shared ? op.shared.parts[kDown].cols / nvfp4::kColumns : 0);
    const auto slot_of = [&](int chunk) { return chunk < expert_chunks * op.top_k ? chunk / expert_chunks : op.top_k; };
    float sums[1][4] = {};
    nvfp4::add_chunks(
        expert_chunks * op.top_k + shared_chunks, warp, staged,
        [&](int chunk, int) {
            const int slot = slot_of(chunk);
            const int64_t column = int64_t{chunk - slot * expert_chunks} * nvfp4::kColumns;
            const bool here = is_here(op, token, slot);
            const DeviceMatrix w = here ? matrix_of(op, kDown, token, slot) : op.experts.parts[kDown];
            return nvfp4::load_chunk(w, first_row, column);
        },
        [&](int group, int, float(&x)[8]) {
            constexpr int kGroups = nvfp4::kColumns / 8;
            const int slot = slot_of(group / kGroups);
            const int64_t column = int64_t{group - slot * expert_chunks * kGroups} * 8;
            if (!is_here(op, token, slot)) {
#pragma unroll
                for (float& value : x) value = 0;
                return;
            }
            inputs_at<true>(inner_row(op, token, slot), column, 0, x);
        },
        sums);
    nvfp4::keep_sums(sums[0], parts[warp]);
    __syncthreads();
    const int row = threadIdx.x;
    if (row >= nvfp4::kRows || first_row + row >= op.hidden) return;
    op.y[token * op.hidden + first_row + row] += nvfp4::total<kDownWarps>(parts, row, 0);
}

bool all_nvfp4(const Blocks& blocks) { return std::ranges::all_of(blocks.parts, nvfp4::reads); }

void launch_nvfp4(const FewTokensMoe& op, cudaStream_t stream) {
    const auto tokens = static_cast<unsigned>(op.tokens);
    const dim3 inner_grid(static_cast<unsigned>(ceil_div<int64_t>(op.inner_width(), nvfp4::kRows)),
                          static_cast<unsigned>(op.slots()), tokens);
    nvfp4_gate_up_kernel<<<inner_grid, 2 * kGateWarps * kWarp, 0, stream>>>(op);
    const dim3 grid(static_cast<unsigned>(ceil_div(op.hidden, nvfp4::kRows)), tokens);
    nvfp4_down_kernel<<<grid, kDownWarps * kWarp, 0, stream>>>(op);
}

void launch_every_type(const FewTokensMoe& op, int multiprocessors, cudaStream_t stream) {
    // Whether several rows to a warp leave every multiprocessor enough warps.
    const auto share_x = [&](int64_t rows) {
        return rows * op.slots() * op.tokens >= int64_t{multiprocessors} * 16 * kRowsTogether;
    };
    const auto launch = [&]<WeightTypes types>() {
        // Packed types come here in float32 mode alone.
        constexpr int kTogether = types == WeightTypes::all ? 1 : kRowsTogether;
        if (share_x(2 * op.inner_width())) {
            launch_gate_up<types, kTogether>(op, stream);
        } else {
            launch_gate_up<types, 1>(op, stream);
        }
        if (share_x(op.hidden)) {
            launch_down<types, kTogether>(op, stream);
        } else {
            launch_down<types, 1>(op, stream);
        }
    };
    const Blocks& a = op.top_k > 0 ? op.experts : op.shared;
    const Blocks& b = op.has_shared ? op.shared : op.experts;
    with_weight_types({a.parts[kGate].type, a.parts[kUp].type, a.parts[kDown].type, b.parts[kGate].type,
                       b.parts[kUp].type, b.parts[kDown].type},
                      launch);
}

}  // namespace

void run_few_tokens(const FewTokensMoe& op, const FewTokensWays& ways, cudaStream_t stream) {
    const bool aligned = int8_rows::reads(op.x, op.hidden) && op.inner_width() % 4 == 0;
    const bool tensor_cores = ways.tensor_cores && aligned;
    const bool whole_numbers = !ways.float32 && aligned;
    FewTokensMoe left = op;
    // Takes those of the blocks left that `reads` can take.
    const auto take = [&](auto reads) {
        FewTokensMoe taken = left;
        (left.top_k > 0 && reads(left.experts) ? left : taken).top_k = 0;
        (left.has_shared && reads(left.shared) ? left : taken).has_shared = false;
        return taken;
    };
    const FewTokensMoe in_whole_numbers = take([&](const Blocks& b) { return whole_numbers && int8_reads(b); });
    const FewTokensMoe on_tensor_cores = take([&](const Blocks& b) { return tensor_cores && all_nvfp4(b); });
    if (in_whole_numbers.slots() > 0) run_int8_experts(in_whole_numbers, ways, stream);
    if (on_tensor_cores.slots() > 0) launch_nvfp4(on_tensor_cores, stream);
    if (left.slots() > 0) launch_every_type(left, ways.multiprocessors, stream);
}

}  // namespace octavo::cuda
