#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/kv_decode.cuh"

namespace octavo::cuda {
namespace {

struct Load {
    Cache cache;
    float* k;
    float* v;
    int64_t first_cell;  // of the rows
    int64_t position;    // of the query
};

// grid: [T][kv_heads][2: K, V]
__global__ void load_kernel(Load op) {
    const Side& side = blockIdx.z == 0 ? op.cache.k : op.cache.v;
    float* rows = blockIdx.z == 0 ? op.k : op.v;
    if (rows == nullptr) return;
    const int head = blockIdx.y;
    float* row = rows + (int64_t{blockIdx.x} * op.cache.kv_heads + head) * op.cache.head_dim;
    for (int i = threadIdx.x; i < op.cache.head_dim; i += blockDim.x) {
        row[i] =
            cached_value(op.cache, side, nullptr, op.position + 1, op.position, op.first_cell + blockIdx.x, head, i);
    }
}

}  // namespace

void CudaBackend::kv_load(const KvRows& rows, int64_t position) {
    const Load op{device_cache(rows.cache), rows.k, rows.v, rows.first_cell, position};
    const dim3 grid(static_cast<unsigned>(rows.tokens), static_cast<unsigned>(rows.cache.kv_heads), 2);
    load_kernel<<<grid, 128, 0, stream_>>>(op);
    launched();
}

}  // namespace octavo::cuda
