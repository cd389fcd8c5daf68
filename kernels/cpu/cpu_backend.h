// The fast CPU back end: splits each operation into tasks for a worker pool and calls the kernels of one instruction
// set (isa_kernels.h). One file per group of operations: matmul.cpp, moe.cpp, pointwise.cpp, kv_store.cpp,
// attention.cpp, causal_conv.cpp, gated_delta.cpp.
//
// Arithmetic: float32; weights are unpacked exactly. Products with low-bit weights take the activations rounded to 8
// bits, in blocks of 32 (int8_kernels.h). A product of a weight row and a token is summed in one order whatever the
// number of tokens, tasks or threads, so `matmul` and `moe` give a token the same bits in every call.
// Memory: all scratch is taken when the back end is made (pages are touched as needed), so an operation cannot fail.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/base/buffer.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cpu/int8_kernels.h"

namespace octavo {

class CpuBackend final : public Backend {
  public:
    // nullptr when the scratch memory cannot be had.
    static std::unique_ptr<CpuBackend> create(int threads, CpuIsa isa, bool dot_instructions);

    std::string name() const override;
    Memory& memory() override { return memory_; }
    BackendBytes own_bytes() override {
        return {.scratch = static_cast<int64_t>(worker_scratch_.bytes() + shared_scratch_.bytes())};
    }

    // matmul.cpp
    void matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) override;
    // moe.cpp
    void moe(const Moe& op) override;
    // pointwise.cpp
    void embed(const Matrix& table, std::span<const int32_t> ids, float* x) override;
    void rms_norm(const float* x, int rows, int width, const float* weight, float eps, float* y) override;
    void qk_norm_rope(const QkNormRope& op) override;
    void gated_norm(const GatedNorm& op) override;
    void gather_columns(const float* x, int tokens, int64_t x_stride, std::span<const int32_t> source,
                        float* y) override;
    // kv_store.cpp
    void kv_basis(const KvRows& rows, float* q, int heads) override;
    bool kv_store(const KvRows& rows) override;
    void kv_overlay(const KvRows& rows) override;
    void kv_load(const KvRows& rows, int64_t position) override;
    // attention.cpp
    void attention(const Attention& op) override;
    // causal_conv.cpp
    void causal_conv(const CausalConv& op) override;
    // gated_delta.cpp
    void gated_delta(const GatedDelta& op) override;

  private:
    // ---- scratch ----
    static constexpr int64_t kPanelFloats = 96 << 10;
    static constexpr int kMaxPanelRows = 32;
    static constexpr int kMoeRoundTokens = 1024;  // a longer call takes several rounds
    static constexpr int kMoeStepTokens = 48;     // tokens whose panel of results stays in the first-level cache
    static constexpr int kMoeStreamTokens = 6;    // up to so many, a task may have kMaxStreamRows
    static constexpr int kMaxStreamRows = 256;

    // One worker's, for one task. Small enough to stay in a core's second-level cache.
    struct WorkerScratch {
        float* panel;         // [kPanelFloats]
        float* second_panel;  // [kPanelFloats]
        float* results;       // [2][kMoeStepTokens][kMaxPanelRows]
        float* sums;          // [kMoeRoundTokens][kMaxPanelRows]
    };
    static constexpr int64_t kWorkerScratchFloats =
        2 * kPanelFloats + (2 * kMoeStepTokens + kMoeRoundTokens) * kMaxPanelRows;
    WorkerScratch worker_scratch(int worker) const {
        float* panel = worker_scratch_.as<float>() + worker * kWorkerScratchFloats;
        float* results = panel + 2 * kPanelFloats;
        return {panel, panel + kPanelFloats, results, results + 2 * kMoeStepTokens * kMaxPanelRows};
    }
    // The whole of a worker's scratch, for operations that divide it in their own way: [kWorkerScratchFloats].
    float* task_scratch(int worker) const { return worker_scratch(worker).panel; }
    // One region for all tasks of an operation.
    static constexpr int64_t kSharedScratchBytes = 64 << 20;
    std::byte* shared_scratch() const { return shared_scratch_.data(); }

    // ---- weight panels (matmul.cpp) ----
    // Some consecutive rows of a weight matrix, ready for dot products.
    struct Panel {
        WeightType type;
        const std::byte* w;
        int64_t row_bytes;
        const std::byte* block_scales;
        int64_t scale_row_bytes;
        int sharing_before;  // see DotProducts
        int rows;
        int64_t cols;
        float scale;
    };
    static bool has_kernels(WeightType type) { return static_cast<int>(type) < kIsaWeightTypes; }
    bool can_read_in_place(const Matrix& w) const { return takes_int8(w) || has_kernels(w.type); }
    bool reads_in_place(const Matrix& w, int tokens) const {
        return takes_int8(w) || (has_kernels(w.type) && tokens <= isa_.direct_tokens[static_cast<int>(w.type)]);
    }
    // Whether products take activations rounded to 8 bits: where the columns are whole steps of the kernels.
    bool takes_int8(const Matrix& w) const { return takes_int8(w.type, w.cols); }
    bool takes_int8(WeightType type, int64_t cols) const {
        const bool whole_steps = type != WeightType::nvfp4_apart || cols % kNvfp4ApartStep == 0;
        return int8_.dot[static_cast<int>(type)] != nullptr && whole_steps;
    }
    // Rounds x[tokens][cols] to `blocks`.
    void quantise(const float* x, int tokens, int64_t cols, Int8Block* blocks);
    // Rows as float32, without the matrix's scale.
    void unpack(const Matrix& w, int64_t first_row, int64_t rows, float* values) const;
    // A row of a type without kernels must fit a panel; the reference takes the matrix otherwise.
    bool fits_panel(const Matrix& w) const { return can_read_in_place(w) || w.cols <= kPanelFloats; }
    // Unpacks rows into `scratch`[kPanelFloats] when `tokens` of them make it worth while.
    Panel make_panel(const Matrix& w, int64_t first_row, int rows, int tokens, float* scratch) const;
    // Products of a panel; the members of `op` that describe the weights are filled in here.
    void dot(const Panel& panel, DotProducts op) const;
    // Says that these rows are probably read after those of `op`.
    static void expect_next(const Matrix& w, int64_t first_row, int rows, DotProducts& op);
    // Rows of a panel that fit the scratch when unpacked.
    int unpacked_panel_rows(const Matrix& w) const;
    int matmul_panel_rows(const Matrix& w, int tokens) const;
    // x_int8: the same tokens rounded, or nullptr where no target takes them.
    void matmul(const float* x, const Int8Block* x_int8, int tokens, std::span<const MatmulTarget> targets);

    // ---- feed-forward (moe.cpp) ----
    struct MoeRound;
    bool fits_panels(const Moe& op) const;
    void moe_round(const Moe& op, int first_token, int tokens);
    void moe_route(MoeRound& round);
    static void moe_group(MoeRound& round);
    void moe_round_x(const MoeRound& round);
    int moe_stream_rows(const MoeRound& round, int64_t total_rows) const;
    void moe_gate_up(const MoeRound& round);
    void moe_down(const MoeRound& round);

    // ---- attention (attention.cpp): the two ways to split it into tasks ----
    void attention_by_tiles(const Attention& op);
    void attention_by_pieces(const Attention& op, int64_t pieces_at_once);

    // ---- tasks ----
    static constexpr int64_t kMinParallelWork = 16 << 10;  // values read: a few microseconds
    static constexpr int64_t kRowTaskFloats = 8 << 10;

    // Runs task(index, worker) for all indices: on the calling thread when all of it together is less work than
    // handing it out.
    template <class Task>
    void run(int count, int64_t total_work, Task&& task) {
        if (total_work < kMinParallelWork) {
            for (int index = 0; index < count; ++index) task(index, 0);
        } else {
            pool_.run(count, task);
        }
    }
    // Calls task(row) for each of `rows` rows of `width` values.
    template <class Task>
    void for_each_row(int64_t rows, int64_t width, Task&& task) {
        const int64_t rows_per_task = std::max<int64_t>(1, kRowTaskFloats / std::max<int64_t>(1, width));
        const int tasks = static_cast<int>((rows + rows_per_task - 1) / rows_per_task);
        run(tasks, rows * width, [&](int index, int) {
            const int64_t end = std::min(rows, (index + 1) * rows_per_task);
            for (int64_t row = index * rows_per_task; row < end; ++row) task(row);
        });
    }

    CpuBackend(int threads, CpuIsa isa, bool dot_instructions);

    HostMemory memory_;
    ThreadPool pool_;
    CpuIsa isa_name_;
    const IsaKernels& isa_;
    const Int8Kernels& int8_;
    Buffer worker_scratch_;               // [threads][kWorkerScratchFloats]
    Buffer shared_scratch_;               // [kSharedScratchBytes]
    std::unique_ptr<Backend> reference_;  // for layers too large for the scratch
};

}  // namespace octavo
