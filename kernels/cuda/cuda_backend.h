// The CUDA back end: each operation becomes a few kernels on one stream, behind the caller; `finish` waits. One file a
// group of operations: matmul.cu, moe.cu, pointwise.cu, kv_store.cu, kv_load.cu, attention.cu, causal_conv.cu,
// gated_delta.cu (its chunked form: gated_delta_chunked.cu), sampling.cu.
//
// Arithmetic: float32, multiplications fused only where a kernel says fmaf. Unless CudaOptions::float32 is set,
// products of many tokens take 16-bit factors to the tensor cores (but F32 weights do not), and attention reads FP16
// (or BF16) of the cache there; sums stay float32. Sums have a fixed order, without atomics: the same calls give the
// same bits. A product of one token is summed in another order than that of many, so splitting a prompt differently
// changes last bits.
//
// Memory: one scratch buffer, grown when an operation needs more than any before.
//
// Repeated passes: kernels read the first cell of a pass from device memory, so that a recorded pass can be run again.
// A pass that comes for the second time is recorded as a CUDA graph; from then on it costs one launch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/host_calls.h"
#include "kernels/cuda/shared_memory.h"
#include "kernels/upload_stream.h"

namespace octavo::cuda {

struct FewTokensWays;

class CudaBackend final : public Backend, public UploadsAhead {
  public:
    static Result<std::unique_ptr<Backend>> create(const CudaOptions& options);
    ~CudaBackend() override;

    std::string name() const override { return name_; }
    Memory& memory() override { return memory_; }
    BackendBytes own_bytes() override;
    Status finish() override;
    void repeat(std::span<const uint64_t> key, int64_t first_cell, const std::function<void()>& work) override;

    void start_on_host(const std::function<void()>& work) override;
    void join_host() override;
    Result<std::unique_ptr<UploadStream>> upload_stream(const UploadOptions& options) override;

    // matmul.cu
    void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) override;
    // moe.cu
    void moe(const Moe& op) override;
    // pointwise.cu
    void embed(const Matrix& table, std::span<const int32_t> ids, float* x) override;
    void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) override;
    void qk_norm_rope(const QkNormRope& op) override;
    void gated_norm(const GatedNorm& op) override;
    void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                        float* y) override;
    void add(const float* x, int64_t count, float* y) override;
    // kv_store.cu
    void kv_basis(const KvRows& rows, float* q, int heads) override;
    bool kv_store(const KvRows& rows) override;
    void kv_overlay(const KvRows& rows) override;
    // kv_load.cu
    void kv_load(const KvRows& rows, int64_t position) override;
    // attention.cu
    void attention(const Attention& op) override;
    // causal_conv.cu
    void causal_conv(const CausalConv& op) override;
    // gated_delta.cu
    void gated_delta(const GatedDelta& op) override;
    // sampling.cu
    bool samples() const override { return true; }
    void sample(const Sampling& op) override;

  private:
    CudaBackend() = default;
    Status start(const CudaOptions& options);

    // A scratch of at least `bytes`, 256-byte aligned, that the next operation may use again; nullptr where it cannot
    // be had (`finish` says so): the operation is left out.
    std::byte* scratch(int64_t bytes);
    // The device's copy of the first cell of the pass.
    const int64_t* position(int64_t first_cell);
    void launched() { memory_.note(cudaGetLastError()); }

    // Small parts of device memory that live as long as the back end.
    struct Flags {
        int64_t position;
        int32_t not_encodable;  // 1 once a value could not be stored
    };

    // A pass as a graph of its kernels. Its pointers hold as long as the scratch stays where it is.
    struct Record {
        std::vector<uint64_t> key;
        cudaGraphExec_t graph;
        HostCalls::Works host_works;
    };
    cudaGraphExec_t record(const std::function<void()>& work);
    // Whether kernels may be launched before those they wait for have ended (early_launch.cuh): code for less than 9.0
    // has no way to wait, on any device. Not outside of records: there the kernel before may be the one that writes the
    // position.
    bool early() const { return recording_ && compute_capability_ >= 90; }
    FewTokensWays few_tokens_ways() const;
    void launch(const Record& record);
    void drop_records();

    std::string name_;
    bool float32_ = false;
    int compute_capability_ = 0;  // that the code was made for; 89 is 8.9
    int multiprocessors_ = 0;
    SharedMemory shared_memory_;
    cudaStream_t stream_ = nullptr;
    CudaMemory memory_;
    HostCalls host_calls_;
    Buffer flags_;  // Flags
    Buffer scratch_;
    int64_t position_ = -1;
    std::optional<Error> refused_;  // scratch that could not be had
    bool recording_ = false;
    std::vector<Record> records_;  // the newest last
    std::vector<uint64_t> last_key_;
};

}  // namespace octavo::cuda
