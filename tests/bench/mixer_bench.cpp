// Times attention, the causal convolution and the gated delta rule of the fast CPU back end at the shapes of real
// models. Attention is also given as bytes of cache read a second.
//
//   mixer_bench [threads] [generic|avx2|avx512] [only lines that contain this text]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Best of several runs of at least 50 ms, in seconds a call.
double time_call(const std::function<void()>& call) {
    call();
    double best = 1e9;
    for (int run = 0; run < 5; ++run) {
        const auto start = Clock::now();
        int calls = 0;
        do {
            call();
            ++calls;
        } while (seconds_since(start) < 0.05);
        best = std::min(best, seconds_since(start) / calls);
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
    int attention_layers;
    int heads, kv_heads, head_dim;
    int gdn_layers;
    int key_heads, value_heads, gdn_dim;
};

constexpr Shape kShapes[] = {{"pocket", 2, 4, 2, 256, 6, 4, 8, 64}, {"35b", 1, 16, 2, 256, 1, 16, 32, 128}};

class Bench {
  public:
    Bench(int threads, CpuIsa isa, std::string_view only) : backend_(make_cpu_backend(threads, isa)), only_(only) {}

    void run() {
        fmt::print("{}\n", backend_->name());
        for (const Shape& shape : kShapes) {
            for (const KvFormat format : {KvFormat::f16, KvFormat::bf16, KvFormat::f32}) {
                for (const int64_t depth : {512, 8192, 32768}) attention(shape, format, depth, 1);
                attention(shape, format, 0, 512);
                attention(shape, format, 8192, 512);
            }
            for (const int tokens : {1, 8, 16, 32, 64, 128, 512}) {
                gated_delta(shape, tokens, DeltaForm::recurrent, "recurrent");
                if (tokens > 1) gated_delta(shape, tokens, DeltaForm::chunked, "chunked");
            }
            for (const int tokens : {1, 512}) {
                conv(shape, tokens);
                store(shape, tokens);
            }
        }
    }

  private:
    // Times are of all layers of that kind.
    void report(const std::string& what, int tokens, double seconds, double flop, double bytes) const {
        fmt::print("{:40} {:10.1f} us {:9.0f} tokens/s {:7.1f} GFLOP/s {:6.1f} GB/s\n", what, seconds * 1e6,
                   tokens / seconds, flop / seconds * 1e-9, bytes / seconds * 1e-9);
        std::fflush(stdout);
    }
    bool skips(const std::string& what) const { return what.find(only_) == std::string::npos; }

    void attention(const Shape& shape, KvFormat format, int64_t depth, int tokens) {
        const std::string what =
            fmt::format("{} {} attention T={} depth {}", shape.name, kv_format_spec(format).name, tokens, depth);
        if (skips(what)) return;
        const int64_t cells = depth + tokens;
        const int64_t side_bytes =
            cells * shape.kv_heads * kv_payload_bytes_per_row(format, shape.head_dim) / 64 * 64 + 64;
        std::vector<std::byte> pool(static_cast<size_t>(2 * side_bytes * shape.attention_layers));
        std::vector<KvView> layers(static_cast<size_t>(shape.attention_layers));
        std::byte* at = pool.data();
        const std::vector<float> rows = values(cells * shape.kv_heads * shape.head_dim);
        for (KvView& view : layers) {
            view.kv_heads = shape.kv_heads;
            view.head_dim = shape.head_dim;
            view.k.format = view.v.format = format;
            view.k.payload = at;
            view.v.payload = at + side_bytes;
            at += 2 * side_bytes;
            std::vector<float> copy = rows;
            (void)backend_->kv_store({.cache = view,
                                      .first_cell = 0,
                                      .tokens = static_cast<int>(cells),
                                      .k = copy.data(),
                                      .v = copy.data()});
        }
        const int64_t width = int64_t{shape.heads} * shape.head_dim;
        const std::vector<float> q = values(tokens * width);
        const std::vector<float> gate = values(tokens * width * 2);
        std::vector<float> out(q.size());
        const double seconds = time_call([&] {
            for (const KvView& view : layers) {
                backend_->attention({.cache = view,
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
        const double pairs = static_cast<double>(tokens) * (static_cast<double>(depth) + (tokens + 1) / 2.0);
        report(what, tokens, seconds, 4.0 * pairs * static_cast<double>(width) * shape.attention_layers,
               2.0 * static_cast<double>(side_bytes) * shape.attention_layers);
    }

    void gated_delta(const Shape& shape, int tokens, DeltaForm form, std::string_view form_name) {
        const std::string what = fmt::format("{} gated_delta T={} {}", shape.name, tokens, form_name);
        if (skips(what)) return;
        const int dim = shape.gdn_dim;
        const std::vector<float> qkv = values(int64_t{tokens} * (2 * shape.key_heads + shape.value_heads) * dim);
        const std::vector<float> gates = values(int64_t{tokens} * shape.value_heads);
        const std::vector<float> a_scale(static_cast<size_t>(shape.value_heads), -0.1f);
        std::vector<int32_t> key_head;
        for (int head = 0; head < shape.value_heads; ++head) key_head.push_back(head % shape.key_heads);
        const int64_t state_floats = int64_t{shape.value_heads} * dim * dim;
        std::vector<float> state(static_cast<size_t>(state_floats * shape.gdn_layers));
        std::vector<float> out(static_cast<size_t>(tokens * shape.value_heads * dim));
        const double seconds = time_call([&] {
            for (int layer = 0; layer < shape.gdn_layers; ++layer) {
                backend_->gated_delta({.tokens = tokens,
                                       .key_heads = shape.key_heads,
                                       .value_heads = shape.value_heads,
                                       .key_dim = dim,
                                       .value_dim = dim,
                                       .qkv = qkv.data(),
                                       .b = gates.data(),
                                       .a = gates.data(),
                                       .a_scale = a_scale.data(),
                                       .dt_bias = a_scale.data(),
                                       .key_head_of_value_head = key_head.data(),
                                       .state = state.data() + layer * state_floats,
                                       .out = out.data(),
                                       .form = form});
            }
        });
        // As the recurrent form counts: decay, read, write, read.
        const double flop = 7.0 * static_cast<double>(state_floats) * tokens * shape.gdn_layers;
        report(what, tokens, seconds, flop, 8.0 * static_cast<double>(state_floats) * shape.gdn_layers);
    }

    void conv(const Shape& shape, int tokens) {
        const std::string what = fmt::format("{} causal_conv T={}", shape.name, tokens);
        if (skips(what)) return;
        const int channels = (2 * shape.key_heads + shape.value_heads) * shape.gdn_dim;
        const std::vector<float> x = values(int64_t{tokens} * channels);
        const std::vector<float> weight = values(int64_t{4} * channels);
        std::vector<float> state(static_cast<size_t>(3 * channels));
        std::vector<float> y(x.size());
        const double seconds = time_call([&] {
            for (int layer = 0; layer < shape.gdn_layers; ++layer) {
                backend_->causal_conv({.tokens = tokens,
                                       .channels = channels,
                                       .kernel = 4,
                                       .x = x.data(),
                                       .weight = weight.data(),
                                       .state = state.data(),
                                       .y = y.data()});
            }
        });
        const double count = static_cast<double>(x.size()) * shape.gdn_layers;
        report(what, tokens, seconds, 8.0 * count, 8.0 * count);
    }

    void store(const Shape& shape, int tokens) {
        const std::string what = fmt::format("{} kv_store f16 T={}", shape.name, tokens);
        if (skips(what)) return;
        std::vector<float> rows = values(int64_t{tokens} * shape.kv_heads * shape.head_dim);
        std::vector<std::byte> bytes(rows.size() * 2);
        KvView view;
        view.kv_heads = shape.kv_heads;
        view.head_dim = shape.head_dim;
        view.k.payload = view.v.payload = bytes.data();
        const double seconds = time_call([&] {
            for (int layer = 0; layer < shape.attention_layers; ++layer) {
                (void)backend_->kv_store({.cache = view, .tokens = tokens, .k = rows.data(), .v = rows.data()});
            }
        });
        const double count = 2.0 * static_cast<double>(rows.size()) * shape.attention_layers;
        report(what, tokens, seconds, 0, 6.0 * count);
    }

    std::unique_ptr<Backend> backend_;
    std::string only_;
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
