// What both forms of the delta rule share.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device.cuh"

namespace octavo::cuda {

// What a pass prepares: q and k normalised, decay and write strength of every value head.
struct Prepared {
    float* q;      // [T][key_heads][key_dim], times 1/sqrt(key_dim)
    float* k;      // [T][key_heads][key_dim]
    float* decay;  // [T][value_heads]: exp(g); for the chunked form g itself
    float* beta;   // [T][value_heads]
};

// The chunked form on tensor cores, for heads of 128 keys and a multiple of 32 values: gated_delta_chunked.cu.
// TF32 factors (11 bits), float32 sums; the state stays float32.
bool runs_chunked(const GatedDelta& op);
int64_t chunked_scratch_bytes(const GatedDelta& op);
void run_chunked(const GatedDelta& op, const Prepared& from, std::byte* scratch, cudaStream_t stream);
void prepare_chunked();  // once, before anything else

}  // namespace octavo::cuda
