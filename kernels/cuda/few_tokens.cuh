// Products of one to four tokens, each weight row read once: what their kernels share.
#pragma once

#include "kernels/cuda/shared_memory.h"
#include "kernels/cuda/weights.cuh"

namespace octavo::cuda {

inline constexpr int kFewTokens = 4;
inline constexpr int kMaxTargets = 4;

// Up to four matrices over the same x, in one launch.
struct FewTokens {
    struct Target {
        DeviceMatrix w;
        float* y;
        int64_t y_stride;
        int64_t first_block;  // of the launch; in int8_products.cu: group of rows
        bool accumulate;
    };
    Target targets[kMaxTargets];
    int count;
    int tokens;
    const float* x;
    int64_t x_stride;
};

__device__ inline const FewTokens::Target& target_of(const FewTokens& op, int64_t block) {
    int which = 0;
    while (which + 1 < op.count && block >= op.targets[which + 1].first_block) ++which;
    return op.targets[which];
}

// The launch's blocks, each with `rows` rows.
inline int64_t share_out(FewTokens& op, int rows) {
    int64_t blocks = 0;
    for (int i = 0; i < op.count; ++i) {
        op.targets[i].first_block = blocks;
        blocks += ceil_div<int64_t>(op.targets[i].w.rows, rows);
    }
    return blocks;
}

struct FewTokensWays {
    int multiprocessors;
    SharedMemory shared_memory;
    bool float32;       // throughout
    bool tensor_cores;  // may be used, with 16-bit factors
    bool early;         // kernels may start while the one before still runs
};

// int8_products.cu; matrices and inputs that int8_rows reads.
void run_int8_products(const FewTokens& op, const FewTokensWays& ways, cudaStream_t stream);
void prepare_int8_products(const SharedMemory& memory);  // once, before anything else
void prepare_int8_experts(const SharedMemory& memory);   // moe_int8.cu, likewise

}  // namespace octavo::cuda
