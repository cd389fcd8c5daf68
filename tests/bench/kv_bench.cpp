// Times attention and the storing of keys and values in every KV format on the fast CPU back end, at the shapes of real
// models, with and without FP16 copies. Attention is also given as bytes of cache read a second, and as a share of f16.
//
//   kv_bench [threads] [generic|avx2|avx512] [only lines that contain this text]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"

namespace octavo {
namespace {

// Seconds since some moment. With one thread the time that the process itself was running, so that a busy machine
// disturbs less.
using Clock = double (*)();
double wall_clock() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double own_clock() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Best of the calls of 0.2 seconds, in seconds.
double time_call(Clock clock, const std::function<void()>& call) {
    call();
    double best = 1e9;
    const double start = clock();
    for (double now = start; now < start + 0.2;) {
        call();
        const double then = now;
        now = clock();
        best = std::min(best, now - then);
    }
    return best;
}

std::vector<float> values(int64_t count) {
    std::vector<float> x(static_cast<size_t>(count));
    for (float& value : x) value = static_cast<float>(std::rand() % 2001 - 1000) / 1000;
    return x;
}

struct Shape {
    const char* name;
    int layers, heads, kv_heads, head_dim;
};
constexpr Shape kShapes[] = {{"pocket", 2, 4, 2, 256}, {"35b", 1, 16, 2, 256}};
constexpr int kSinks = 64;
constexpr int kWindow = 128;

// All bytes of one layer's cache.
struct Layer {
    std::vector<std::byte> payload[2], scales[2];
    std::vector<f16_bits> open[2], sinks[2], ring[2];
    KvView view;

    Layer(const Shape& shape, KvFormat k, KvFormat v, int64_t cells, bool copies) {
        view.kv_heads = shape.kv_heads;
        view.head_dim = shape.head_dim;
        const int64_t rows = (cells + kKvGroupCells) * shape.kv_heads;
        const int64_t cell_values = int64_t{shape.kv_heads} * shape.head_dim;
        for (const int side : {0, 1}) {
            const KvFormat format = side == 0 ? k : v;
            const KvFormatSpec& spec = kv_format_spec(format);
            payload[side].resize(static_cast<size_t>(rows * kv_payload_bytes_per_row(format, shape.head_dim)));
            scales[side].resize(static_cast<size_t>(rows * kv_scale_bytes_per_row(format, shape.head_dim)));
            if (spec.per_channel()) open[side].resize(static_cast<size_t>(kKvGroupCells * cell_values));
            sinks[side].resize(static_cast<size_t>(kSinks * cell_values));
            ring[side].resize(static_cast<size_t>(kWindow * cell_values));
            (side == 0 ? view.k : view.v) = {format, spec.rotates, payload[side].data(), scales[side].data(),
                                             open[side].empty() ? nullptr : open[side].data()};
        }
        if (copies)
            view.overlay = {kSinks, kWindow, 0, sinks[0].data(), sinks[1].data(), ring[0].data(), ring[1].data()};
    }
};

class Bench {
  public:
    Bench(int threads, CpuIsa isa, std::string_view only)
        : clock_(threads == 1 ? own_clock : wall_clock), backend_(make_cpu_backend(threads, isa)), only_(only) {}

    void run() {
        fmt::print("{}\n", backend_->name());
        for (const Shape& shape : kShapes) {
            for (const KvFormatSpec& spec : kv_formats()) {
                for (const int64_t depth : {512, 8192, 32768})
                    attention(shape, spec.format, spec.format, depth, 1, true);
                attention(shape, spec.format, spec.format, 4096, 512, true);
                store(shape, spec.format, 1);
                store(shape, spec.format, 512);
            }
            attention(shape, KvFormat::q2c, KvFormat::q4_0, 32768, 1, true);
            attention(shape, KvFormat::q2c, KvFormat::q4_0, 4096, 512, true);
        }
    }

  private:
    bool skips(const std::string& what) const { return what.find(only_) == std::string::npos; }

    // Times are of all layers.
    void attention(const Shape& shape, KvFormat k, KvFormat v, int64_t depth, int tokens, bool copies) {
        const std::string formats = fmt::format("{}/{}", kv_format_spec(k).name, kv_format_spec(v).name);
        const std::string run = fmt::format("{} attention T={} depth {}", shape.name, tokens, depth);
        if (skips(run + " " + formats)) return;
        const int64_t cells = depth + tokens;
        const std::vector<float> rows = values(cells * shape.kv_heads * shape.head_dim);
        std::vector<Layer> layers;
        double bytes = 0;
        for (int i = 0; i < shape.layers; ++i) {
            layers.emplace_back(shape, k, v, cells, copies);
            const KvView& view = layers.back().view;
            std::vector<float> copy = rows;
            const KvRows past = {view, 0, static_cast<int>(cells), copy.data(), copy.data()};
            (void)backend_->kv_store(past);
            backend_->kv_overlay({view, 0, static_cast<int>(depth), copy.data(), copy.data()});
            for (const KvFormat format : {k, v}) {
                bytes += static_cast<double>(cells * shape.kv_heads *
                                             (kv_payload_bytes_per_row(format, shape.head_dim) +
                                              kv_scale_bytes_per_row(format, shape.head_dim)));
            }
        }
        const int64_t width = int64_t{shape.heads} * shape.head_dim;
        const std::vector<float> q = values(tokens * width);
        const std::vector<float> gate = values(tokens * width * 2);
        std::vector<float> out(q.size());
        const double seconds = time_call(clock_, [&] {
            for (const Layer& layer : layers) {
                backend_->attention({.cache = layer.view,
                                     .first_cell = depth,
                                     .tokens = tokens,
                                     .heads = shape.heads,
                                     .q = q.data(),
                                     .q_gate = gate.data(),
                                     .k_new = rows.data(),
                                     .v_new = rows.data(),
                                     .out = out.data()});
            }
        });
        if (k == KvFormat::f16 && v == KvFormat::f16) f16_seconds_[run] = seconds;
        const double f16 = f16_seconds_.count(run) != 0 ? f16_seconds_[run] : 0;
        fmt::print("{:40} {:12} {:10.1f} us {:9.0f} tokens/s {:6.1f} GB/s {:6.2f} of f16's time\n", run, formats,
                   seconds * 1e6, tokens / seconds, bytes / seconds * 1e-9, f16 > 0 ? seconds / f16 : 0.0);
        std::fflush(stdout);
    }

    void store(const Shape& shape, KvFormat format, int tokens) {
        const std::string run = fmt::format("{} store T={}", shape.name, tokens);
        const std::string name(kv_format_spec(format).name);
        if (skips(run + " " + name)) return;
        std::vector<float> rows = values(int64_t{tokens} * shape.kv_heads * shape.head_dim);
        const std::vector<float> first = rows;
        std::vector<float> q = values(int64_t{tokens} * shape.heads * shape.head_dim);
        Layer layer(shape, format, format, tokens, true);
        const KvRows op = {layer.view, 0, tokens, rows.data(), rows.data()};
        const double basis = time_call(clock_, [&] { backend_->kv_basis(op, q.data(), shape.heads); });
        rows = first;
        const double store = time_call(clock_, [&] { (void)backend_->kv_store(op); });
        const double overlay = time_call(clock_, [&] { backend_->kv_overlay(op); });
        const double scale = 1e6 * shape.layers;
        fmt::print("{:40} {:12} basis {:8.1f} us, store {:8.1f} us, overlay {:6.1f} us, all layers\n", run, name,
                   basis * scale, store * scale, overlay * scale);
        std::fflush(stdout);
    }

    Clock clock_;
    std::unique_ptr<Backend> backend_;
    std::string only_;
    std::map<std::string, double> f16_seconds_;
};

}  // namespace
}  // namespace octavo

int main(int argc, char** argv) {
    using octavo::CpuIsa;
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    const std::string_view name = argc > 2 ? argv[2] : "avx512";
    const CpuIsa isa = name == "generic" ? CpuIsa::generic : name == "avx2" ? CpuIsa::avx2 : CpuIsa::avx512;
    octavo::Bench(threads, isa, argc > 3 ? argv[3] : "").run();
    return 0;
}
