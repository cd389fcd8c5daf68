// Times the dense kernels of the fast CPU back end at the shapes of real models, against what this machine can do:
// float32 multiply-adds a second, and bytes read a second from a region as large as the model's weights.
//
//   kernel_bench [threads] [generic|avx2|avx_vnni|avx512] [only lines that contain this text]
//
// avx2 is without the instructions for products of bytes, avx_vnni with them, avx512 with all that the machine has.
// Weights rotate through the region, so that no call finds them in a cache that the whole model would not fit.
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/thread_pool.h"

namespace octavo {
namespace {

// With one thread, processor time: other programs then disturb less.
bool counts_processor_time = false;

double now_seconds() {
    if (counts_processor_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Best of several runs of about 50 ms, in seconds a call.
double time_call(const std::function<void()>& call) {
    call();
    double best = 1e9;
    for (int run = 0; run < 5; ++run) {
        const double start = now_seconds();
        int calls = 0;
        do {
            call();
            ++calls;
        } while ((now_seconds() - start) < 0.05);
        best = std::min(best, (now_seconds() - start) / calls);
    }
    return best;
}

volatile float sink = 0;

constexpr int kFmaLanes = 192;  // twelve 512-bit vectors: chains enough to hide the latency of both units
constexpr int kFmaSteps = 20000;
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "arch=haswell", "default")))
#endif
void multiply_adds(float* lanes) {
    for (int step = 0; step < kFmaSteps; ++step) {
        for (int i = 0; i < kFmaLanes; ++i) lanes[i] = __builtin_fmaf(lanes[i], 0.999f, 0.001f);
    }
}

double measure_peak_gflops(ThreadPool& pool) {
    const double seconds = time_call([&] {
        pool.run(pool.threads(), [](int, int) {
            float lanes[kFmaLanes] = {};
            multiply_adds(lanes);
            sink = lanes[0];
        });
    });
    return pool.threads() * 2.0 * kFmaLanes * kFmaSteps / seconds * 1e-9;
}

// The region that weights are taken from, in turn.
class Region {
  public:
    explicit Region(size_t bytes) : bytes_(bytes) {
        // Any bits will do that are small, finite numbers as every weight type.
        for (size_t i = 0; i < bytes; ++i) bytes_[i] = static_cast<std::byte>(i % 2 == 0 ? i * 37 : 0x2c);
    }

    Matrix next(WeightType type, int64_t rows, int64_t cols) {
        Matrix matrix = {type, nullptr, rows, cols};
        const auto size = static_cast<size_t>(matrix.bytes() + matrix.scale_bytes() + 63) / 64 * 64;
        if (at_ + size > bytes_.size()) at_ = 0;
        matrix.data = bytes_.data() + at_;
        matrix.block_scales = matrix.data + matrix.bytes();
        at_ += size;
        return matrix;
    }
    FfnMatrices next_ffn(WeightType type, int64_t hidden, int64_t ff) {
        return {next(type, ff, hidden), next(type, ff, hidden), next(type, hidden, ff)};
    }

    double measure_gb_per_s(ThreadPool& pool) const {
        const size_t chunk = 256 << 10;
        const int chunks = static_cast<int>(bytes_.size() / chunk);
        const double seconds = time_call([&] {
            pool.run(chunks, [&](int index, int) {
                const auto* words = reinterpret_cast<const uint64_t*>(bytes_.data() + index * chunk);
                uint64_t sum[8] = {};
                for (size_t i = 0; i < chunk / sizeof(uint64_t); i += 8) {
                    for (size_t j = 0; j < 8; ++j) sum[j] ^= words[i + j];
                }
                sink = static_cast<float>(sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7]);
            });
        });
        return static_cast<double>(chunks) * chunk / seconds * 1e-9;
    }

  private:
    std::vector<std::byte> bytes_;
    size_t at_ = 0;
};

struct Shape {
    const char* name;
    int hidden;
    std::vector<std::vector<int64_t>> projections;  // rows of the targets of one call, cols = hidden
    int64_t out_cols;                               // of the output projection, rows = hidden
    int64_t vocab;
    int experts, top_k, ff, shared_ff;
    size_t region_bytes;
};

const Shape kShapes[] = {
    {"pocket", 384, {{1536, 16}, {2048, 512, 512}}, 512, 8192, 16, 4, 128, 128, 64 << 20},
    {"35b", 2048, {{8192, 4096, 32, 32}, {8192, 512, 512}}, 4096, 248320, 256, 8, 512, 512, 1024 << 20},
};

class Bench {
  public:
    Bench(int threads, CpuIsa isa, bool dot_instructions, std::string_view only)
        : pool_(threads), backend_(make_cpu_backend(threads, isa, dot_instructions)), only_(only) {}

    void run() {
        peak_gflops_ = measure_peak_gflops(pool_);
        fmt::print("{}\npeak: {:.0f} GFLOP/s of float32 multiply-adds\n", backend_->name(), peak_gflops_);
        for (const Shape& shape : kShapes) {
            Region region(shape.region_bytes);
            gb_per_s_ = region.measure_gb_per_s(pool_);
            fmt::print("\n{}: reading {} MiB: {:.1f} GB/s\n", shape.name, shape.region_bytes >> 20, gb_per_s_);
            for (const int tokens : {1, 4, 16, 512}) {
                for (const WeightType type :
                     {WeightType::bf16, WeightType::q8_0, WeightType::f8_e4m3, WeightType::f8_e4m3_blocks,
                      WeightType::q4_k, WeightType::q6_k, WeightType::nvfp4_apart}) {
                    if (shape.hidden % weight_type_spec(type).block_values != 0) continue;
                    for (const auto& rows : shape.projections) matmul(shape, region, type, rows, shape.hidden, tokens);
                    matmul(shape, region, type, {shape.hidden}, shape.out_cols, tokens);
                    if (tokens == 1) matmul(shape, region, type, {shape.vocab}, shape.hidden, tokens);
                    moe(shape, region, type, tokens);
                }
            }
        }
    }

  private:
    void report(const std::string& what, double seconds, double flop, double bytes) const {
        fmt::print("{:44} {:9.1f} us {:7.1f} GFLOP/s {:3.0f}% {:7.1f} GB/s {:4.0f}%\n", what, seconds * 1e6,
                   flop / seconds * 1e-9, flop / seconds * 1e-7 / peak_gflops_, bytes / seconds * 1e-9,
                   bytes / seconds * 1e-7 / gb_per_s_);
        std::fflush(stdout);
    }
    bool skips(const std::string& what) const { return what.find(only_) == std::string::npos; }

    void matmul(const Shape& shape, Region& region, WeightType type, const std::vector<int64_t>& rows, int64_t cols,
                int tokens) {
        const std::string what = fmt::format("{} {} T={} matmul {}x{}", shape.name, weight_type_spec(type).name, tokens,
                                             fmt::join(rows, "+"), cols);
        if (skips(what)) return;
        int64_t width = 0;
        int64_t bytes = 0;
        for (const int64_t r : rows) width += r, bytes += region.next(type, r, cols).bytes();
        const std::vector<float> x(static_cast<size_t>(tokens * cols), 0.5f);
        std::vector<float> y(static_cast<size_t>(tokens * width));
        const double seconds = time_call([&] {
            std::vector<MatmulTarget> targets;
            float* out = y.data();
            for (const int64_t r : rows) {
                targets.push_back({.w = region.next(type, r, cols), .y = out, .y_stride = r});
                out += r * tokens;
            }
            backend_->matmul(x.data(), tokens, targets);
        });
        report(what, seconds, 2.0 * static_cast<double>(width * cols * tokens), static_cast<double>(bytes));
    }

    void moe(const Shape& shape, Region& region, WeightType type, int tokens) {
        const std::string what = fmt::format("{} {} T={} moe {}/{} ff {}", shape.name, weight_type_spec(type).name,
                                             tokens, shape.top_k, shape.experts, shape.ff);
        if (skips(what)) return;
        const std::vector<float> x(static_cast<size_t>(tokens * shape.hidden), 0.5f);
        std::vector<float> y(x.size());
        std::vector<float> logits(static_cast<size_t>(tokens * shape.experts));
        for (float& logit : logits) logit = static_cast<float>(std::rand() % 4096) / 1000;
        std::vector<int> used(static_cast<size_t>(shape.experts));
        for (int t = 0; t < tokens; ++t) {
            const auto first = logits.begin() + t * shape.experts;
            std::vector<float> sorted(first, first + shape.experts);
            std::nth_element(sorted.begin(), sorted.begin() + shape.top_k - 1, sorted.end(), std::greater<>());
            for (int e = 0; e < shape.experts; ++e) used[e] |= first[e] >= sorted[shape.top_k - 1] ? 1 : 0;
        }
        const auto experts_used = static_cast<double>(std::count(used.begin(), used.end(), 1));
        std::vector<FfnMatrices> experts(static_cast<size_t>(shape.experts));
        FfnMatrices shared;
        const double seconds = time_call([&] {
            for (FfnMatrices& expert : experts) expert = region.next_ffn(type, shape.hidden, shape.ff);
            shared = region.next_ffn(type, shape.hidden, shape.shared_ff);
            backend_->moe({.tokens = tokens,
                           .hidden = shape.hidden,
                           .top_k = shape.top_k,
                           .experts = experts,
                           .shared = &shared,
                           .x = x.data(),
                           .router_logits = logits.data(),
                           .shared_gate = x.data(),
                           .y = y.data()});
        });
        const double per_expert = 3.0 * shape.ff * shape.hidden;
        const double per_shared = 3.0 * shape.shared_ff * shape.hidden;
        const double value_bytes = static_cast<double>(region.next(type, 1, 1024).bytes()) / 1024;
        report(what, seconds, 2.0 * tokens * (shape.top_k * per_expert + per_shared),
               (experts_used * per_expert + per_shared) * value_bytes);
    }

    ThreadPool pool_;
    std::unique_ptr<Backend> backend_;
    std::string only_;
    double peak_gflops_ = 0;
    double gb_per_s_ = 0;
};

}  // namespace
}  // namespace octavo

int main(int argc, char** argv) {
    using octavo::CpuIsa;
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    const std::string_view name = argc > 2 ? argv[2] : "avx512";
    const bool avx2 = name == "avx2" || name == "avx_vnni";
    const CpuIsa isa = name == "generic" ? CpuIsa::generic : avx2 ? CpuIsa::avx2 : CpuIsa::avx512;
    octavo::counts_processor_time = threads == 1;
    octavo::Bench(threads, isa, name != "avx2", argc > 3 ? argv[3] : "").run();
    return 0;
}
