// Times the CUDA back end at the shapes of Qwen3.5-35B-A3B (see GPU.md in kernels/cuda): attention of a decoded token
// over the KV cache in every scheme, storing, conversion, products, experts and the delta rule. Reads are given as a
// share of what the same GPU's memory gives in the same run when it is simply read; attention also as a share of a
// plain read of as many bytes by as many kernels in one recorded graph (the second percentage): a layer takes
// microseconds.
//
//   cuda_bench [only lines that contain one of these texts...]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/cuda.h"
#include "kernels/kv_format.h"
#include "kernels/random_weights.h"

namespace octavo {
namespace {

constexpr int kLayers = 10, kKvHeads = 2, kHeads = 16, kDim = 256;

struct Machine {
    std::unique_ptr<Backend> backend;
    double gb_per_s = 0;
    std::vector<std::string> only;  // none: every line

    Memory& memory() const { return backend->memory(); }
    bool wants(const std::string& line) const {
        const auto contains = [&](const std::string& text) { return line.find(text) != std::string::npos; };
        return only.empty() || std::ranges::any_of(only, contains);
    }
};

std::vector<float> random_floats(size_t count, uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine);
    return values;
}

Buffer on_device(const Machine& machine, size_t bytes, const void* from = nullptr) {
    Result<Buffer> buffer = machine.memory().allocate(bytes, "the benchmark");
    if (!buffer) {
        fmt::print("{}\n", buffer.error().message);
        return {};
    }
    if (from != nullptr) machine.memory().upload(buffer->data(), from, bytes);
    return std::move(*buffer);
}
Buffer floats_on_device(const Machine& machine, size_t count, uint32_t seed) {
    const std::vector<float> values = random_floats(count, seed);
    return on_device(machine, count * sizeof(float), values.data());
}

// Median milliseconds of one call.
template <class Work>
double median_ms(Backend& backend, int calls, Work&& work) {
    std::vector<double> all;
    for (int i = 0; i < 11; ++i) {
        (void)backend.finish();
        const auto start = std::chrono::steady_clock::now();
        for (int call = 0; call < calls; ++call) work();
        if (Status status = backend.finish(); !status) fmt::print("{}\n", status.error().message);
        all.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() /
                      calls);
    }
    std::sort(all.begin() + 2, all.end());  // the first two warm up
    return all[6];
}

// ---- attention ----

struct Layer {
    KvView view;
    std::vector<Buffer> memory;
};

Layer make_layer(const Machine& machine, KvFormat k, KvFormat v, int64_t cells, int64_t window) {
    Layer layer;
    const auto take = [&](int64_t bytes) -> std::byte* {
        if (bytes == 0) return nullptr;
        layer.memory.push_back(on_device(machine, static_cast<size_t>(bytes)));
        return layer.memory.back().data();
    };
    const int64_t row = kKvHeads * kDim * 2;
    const auto side = [&](KvFormat format) {
        const KvFormatSpec& spec = kv_format_spec(format);
        KvSide s;
        s.format = format;
        s.rotate = spec.rotates;
        s.payload = take(cells * kKvHeads * kv_payload_bytes_per_row(format, kDim));
        s.scales = take(cells * kKvHeads * kv_scale_bytes_per_row(format, kDim));
        if (spec.per_channel()) s.open = reinterpret_cast<f16_bits*>(take(kKvGroupCells * row));
        return s;
    };
    layer.view.kv_heads = kKvHeads;
    layer.view.head_dim = kDim;
    layer.view.k = side(k);
    layer.view.v = side(v);
    if (window > 0) {
        layer.view.overlay.sinks = 64;
        layer.view.overlay.window = window;
        for (f16_bits** part : {&layer.view.overlay.sink_k, &layer.view.overlay.sink_v, &layer.view.overlay.ring_k,
                                &layer.view.overlay.ring_v}) {
            *part = reinterpret_cast<f16_bits*>(take(std::max<int64_t>(64, window) * row));
        }
    }
    return layer;
}

struct Scheme {
    const char* name;
    KvFormat k, v;
    int64_t window = 128;  // FP16 copies beside 64 sinks, where the format has them; 0: none of either
};
constexpr Scheme kSchemes[] = {
    {"f16", KvFormat::f16, KvFormat::f16},
    {"bf16", KvFormat::bf16, KvFormat::bf16},
    {"q8_0", KvFormat::q8_0, KvFormat::q8_0},
    {"q6_0", KvFormat::q6_0, KvFormat::q6_0},
    {"q4_0", KvFormat::q4_0, KvFormat::q4_0},
    {"q4_0, no copies", KvFormat::q4_0, KvFormat::q4_0, 0},
    {"q4_0, window 1024", KvFormat::q4_0, KvFormat::q4_0, 1024},
    {"q2k", KvFormat::q2c, KvFormat::q4_0},
    {"k=q8_0,v=q4_0", KvFormat::q8_0, KvFormat::q4_0},
    {"fp8_e4m3", KvFormat::fp8_e4m3, KvFormat::fp8_e4m3},
    {"q4_nl", KvFormat::q4_nl, KvFormat::q4_nl},
    {"q6r", KvFormat::q6r, KvFormat::q6r},
    {"q2", KvFormat::q2c, KvFormat::q2c},
};

void time_attention(const Machine& machine, int64_t cells, bool all) {
    constexpr int kPass = 4096;
    Backend& backend = *machine.backend;
    Buffer k = floats_on_device(machine, kPass * kKvHeads * kDim, 1);
    Buffer v = floats_on_device(machine, kPass * kKvHeads * kDim, 2);
    const Buffer q = floats_on_device(machine, kHeads * kDim, 3);
    const Buffer gate = floats_on_device(machine, kHeads * 2 * kDim, 4);
    const Buffer out = on_device(machine, kHeads * kDim * sizeof(float));
    for (const Scheme& scheme : kSchemes) {
        const std::string name = fmt::format("attention {} {}K", scheme.name, cells / 1024);
        if (!machine.wants(name) || (!all && &scheme - kSchemes > 8)) continue;
        std::vector<Layer> layers;
        for (int i = 0; i < kLayers; ++i) {
            layers.push_back(
                make_layer(machine, scheme.k, scheme.v, cells, kv_format_spec(scheme.v).raw() ? 0 : scheme.window));
        }
        const auto rows = [&](const Layer& layer, int64_t first, int count) {
            return KvRows{layer.view, first, count, k.as<float>(), v.as<float>()};
        };
        for (const Layer& layer : layers) {
            for (int64_t first = 0; first < cells; first += kPass) {
                (void)backend.kv_store(rows(layer, first, kPass));
                backend.kv_overlay(rows(layer, first, kPass));
            }
        }
        if (Status status = backend.finish(); !status) fmt::print("{}\n", status.error().message);
        const uint64_t key[] = {static_cast<uint64_t>(&scheme - kSchemes), static_cast<uint64_t>(cells)};
        const auto attend = [&] {
            for (const Layer& layer : layers) {
                backend.attention({layer.view, cells - 1, 1, kHeads, q.as<float>(), gate.as<float>(), k.as<float>(),
                                   v.as<float>(), out.as<float>()});
            }
        };
        const double ms = median_ms(backend, 20, [&] { backend.repeat(key, cells - 1, attend); });
        double bytes = 0;
        for (const KvFormat format : {scheme.k, scheme.v}) {
            bytes += static_cast<double>(kLayers * cells * kKvHeads) *
                     static_cast<double>(kv_payload_bytes_per_row(format, kDim) + kv_scale_bytes_per_row(format, kDim));
        }
        const double gb_per_s = bytes / ms / 1e6;
        const Result<double> plain = cuda_read_gb_per_s(backend, static_cast<int64_t>(bytes), kLayers);
        fmt::print("{:<32} {:>8.4f} ms {:>8.1f} GB/s {:>6.1f}% {:>6.1f}%\n", name, ms, gb_per_s,
                   100 * gb_per_s / machine.gb_per_s, plain ? 100 * gb_per_s / *plain : 0.0);
        if (cells == 32768) {
            const double store = median_ms(backend, 4, [&] { (void)backend.kv_store(rows(layers[0], 1024, 512)); });
            fmt::print("{:<32} {:>8.3f} ms\n", fmt::format("  store 512 cells {}", scheme.name), store);
            const double one = median_ms(backend, 20, [&] { (void)backend.kv_store(rows(layers[0], 1023, 1)); });
            fmt::print("{:<32} {:>8.3f} ms\n", fmt::format("  store 1 cell {}", scheme.name), one);
        }
    }
}

void time_prefill_attention(const Machine& machine, KvFormat k_format, KvFormat v_format, int64_t depth) {
    constexpr int kTokens = 512;
    const std::string name = fmt::format("prefill attention {}/{} {} at {}K", kv_format_spec(k_format).name,
                                         kv_format_spec(v_format).name, kTokens, depth / 1024);
    if (!machine.wants(name)) return;
    Backend& backend = *machine.backend;
    const Layer layer = make_layer(machine, k_format, v_format, depth + kTokens, 0);
    Buffer k = floats_on_device(machine, kTokens * kKvHeads * kDim, 1);
    Buffer v = floats_on_device(machine, kTokens * kKvHeads * kDim, 2);
    const Buffer q = floats_on_device(machine, kTokens * kHeads * kDim, 3);
    const Buffer gate = floats_on_device(machine, kTokens * kHeads * 2 * kDim, 4);
    const Buffer out = on_device(machine, kTokens * kHeads * kDim * sizeof(float));
    for (int64_t first = 0; first < depth + kTokens; first += kTokens) {
        (void)backend.kv_store({layer.view, first, kTokens, k.as<float>(), v.as<float>()});
    }
    const double ms = median_ms(backend, 2, [&] {
        backend.attention({layer.view, depth, kTokens, kHeads, q.as<float>(), gate.as<float>(), k.as<float>(),
                           v.as<float>(), out.as<float>()});
    });
    const double flops = 4.0 * kHeads * kDim * kTokens * static_cast<double>(depth + kTokens / 2);
    fmt::print("{:<32} {:>8.3f} ms {:>8.1f} TFLOP/s\n", name, ms, flops / ms / 1e9);
}

// ---- products ----

// A matrix of random weights on the device: the same rows again and again. `buffers` hold it.
Matrix random_matrix(const Machine& machine, WeightType type, int64_t rows, int64_t cols,
                     std::vector<Buffer>& buffers) {
    constexpr int64_t kRows = 128;
    Matrix w{type, nullptr, rows, cols};
    std::vector<std::byte> some(static_cast<size_t>(kRows * w.row_bytes()));
    std::vector<std::byte> some_scales(static_cast<size_t>(kRows * w.scale_row_bytes()));
    fill_random_weights(type, kRows * w.row_blocks(), 0.1f, 5, some.data(), some_scales.data());
    const auto put = [&](const std::vector<std::byte>& some_bytes, int64_t bytes) -> const std::byte* {
        if (bytes == 0) return nullptr;
        std::vector<std::byte> all(static_cast<size_t>(bytes));
        for (size_t at = 0; at < all.size(); at += some_bytes.size()) {
            std::memcpy(&all[at], some_bytes.data(), std::min(some_bytes.size(), all.size() - at));
        }
        buffers.push_back(on_device(machine, all.size(), all.data()));
        return buffers.back().data();
    };
    w.data = put(some, w.bytes());
    w.block_scales = put(some_scales, w.scale_bytes());
    return w;
}

void time_matmul(const Machine& machine, WeightType type, int64_t rows, int64_t cols, int tokens) {
    const WeightTypeSpec& spec = weight_type_spec(type);
    const std::string name = fmt::format("matmul {} {}x{} {} tokens", spec.name, rows, cols, tokens);
    if (!machine.wants(name)) return;
    Backend& backend = *machine.backend;
    // Several copies, more than the caches hold.
    const int64_t bytes = Matrix{type, nullptr, rows, cols}.bytes();
    const int copies = tokens == 1 ? static_cast<int>(std::max<int64_t>(1, (int64_t{256} << 20) / bytes)) : 1;
    std::vector<Buffer> buffers;
    std::vector<Matrix> matrices;
    for (int i = 0; i < copies; ++i) matrices.push_back(random_matrix(machine, type, rows, cols, buffers));
    const Buffer x = floats_on_device(machine, static_cast<size_t>(cols * tokens), 6);
    const Buffer y = on_device(machine, static_cast<size_t>(rows * tokens) * sizeof(float));
    const auto multiply = [&] {
        for (const Matrix& matrix : matrices) {
            const MatmulTarget target{matrix, y.as<float>(), rows, false};
            backend.matmul(x.as<float>(), tokens, {&target, 1});
        }
    };
    const uint64_t key[] = {static_cast<uint64_t>(type), static_cast<uint64_t>(rows), static_cast<uint64_t>(cols),
                            static_cast<uint64_t>(tokens)};
    const double ms = median_ms(backend, 2, [&] { backend.repeat(key, 0, multiply); }) / copies;
    const double gb_per_s = static_cast<double>(matrices[0].bytes() + matrices[0].scale_bytes()) / ms / 1e6;
    const double tflops = 2.0 * static_cast<double>(rows * cols) * tokens / ms / 1e9;
    fmt::print("{:<48} {:>8.4f} ms {:>8.1f} GB/s {:>6.1f}% {:>8.1f} TFLOP/s\n", name, ms, gb_per_s,
               100 * gb_per_s / machine.gb_per_s, tflops);
}

// One layer of 256 experts, of which 8 are chosen, and a shared one.
void time_experts(const Machine& machine, WeightType type, int tokens) {
    constexpr int kExperts = 256, kChosen = 8, kHidden = 2048, kWidth = 512;
    const std::string name = fmt::format("experts {} {} tokens", weight_type_spec(type).name, tokens);
    if (!machine.wants(name)) return;
    Backend& backend = *machine.backend;
    // As the model places them: of each expert gate, up and down, the scales of blocks behind their matrix.
    const Matrix wide{type, nullptr, kWidth, kHidden};
    const Matrix narrow{type, nullptr, kHidden, kWidth};
    const auto data_bytes = static_cast<size_t>(wide.bytes());
    const size_t part_bytes = data_bytes + static_cast<size_t>(wide.scale_bytes());
    std::vector<std::byte> all((kExperts + 1) * 3 * part_bytes);
    std::vector<std::byte> scales(static_cast<size_t>(kWidth * wide.scale_row_bytes()));
    fill_random_weights(type, kWidth * wide.row_blocks(), 0.1f, 5, all.data(), scales.data());
    std::memcpy(&all[data_bytes], scales.data(), part_bytes - data_bytes);
    for (size_t at = part_bytes; at < all.size(); at += part_bytes) std::memcpy(&all[at], all.data(), part_bytes);
    const Buffer weights = on_device(machine, all.size(), all.data());
    std::vector<FfnMatrices> blocks(kExperts + 1, {wide, wide, narrow});
    const std::byte* next = weights.data();
    for (FfnMatrices& block : blocks) {
        for (Matrix* w : {&block.gate, &block.up, &block.down}) {
            w->data = next;
            w->block_scales = next + data_bytes;
            next += part_bytes;
        }
    }
    const auto count = static_cast<size_t>(tokens);
    const Buffer x = floats_on_device(machine, count * kHidden, 6);
    // Other experts in each call, so that no cache holds them.
    constexpr size_t kCalls = 16;
    const Buffer router = floats_on_device(machine, kCalls * count * kExperts, 7);
    const Buffer gate = floats_on_device(machine, count, 8);
    const Buffer y = floats_on_device(machine, count * kHidden, 9);
    const auto multiply = [&] {
        for (size_t call = 0; call < kCalls; ++call) {
            backend.moe({.tokens = tokens,
                         .hidden = kHidden,
                         .top_k = kChosen,
                         .experts = std::span(blocks).first(kExperts),
                         .shared = &blocks.back(),
                         .x = x.as<float>(),
                         .router_logits = router.as<float>() + call * count * kExperts,
                         .shared_gate = gate.as<float>(),
                         .y = y.as<float>()});
        }
    };
    const uint64_t key[] = {78, static_cast<uint64_t>(type), static_cast<uint64_t>(tokens)};
    const double ms = median_ms(backend, 2, [&] { backend.repeat(key, 0, multiply); }) / kCalls;
    const FfnMatrices& block = blocks.front();
    double bytes = 0;
    for (const Matrix* w : {&block.gate, &block.up, &block.down}) {
        bytes += static_cast<double>(w->bytes() + w->scale_bytes()) * (kChosen + 1);
    }
    const double flops = 2.0 * 3 * kHidden * kWidth * (kChosen + 1) * tokens;
    fmt::print("{:<48} {:>8.4f} ms", name, ms);
    if (tokens == 1)
        fmt::print(" {:>8.1f} GB/s {:>6.1f}%", bytes / ms / 1e6, 100 * bytes / ms / 1e6 / machine.gb_per_s);
    fmt::print(" {:>8.1f} TFLOP/s\n", flops / ms / 1e9);
}

void time_delta(const Machine& machine, int tokens, DeltaForm form) {
    const std::string name =
        fmt::format("gated delta {} tokens, {}", tokens, form == DeltaForm::recurrent ? "recurrent" : "chunked");
    if (!machine.wants(name)) return;
    constexpr int kKeyHeads = 16, kValueHeads = 32, kState = 128;
    Backend& backend = *machine.backend;
    const auto count = static_cast<size_t>(tokens);
    const Buffer qkv = floats_on_device(machine, count * 8192, 7);
    const Buffer b = floats_on_device(machine, count * kValueHeads, 8);
    const Buffer a = floats_on_device(machine, count * kValueHeads, 9);
    const std::vector<float> scale(kValueHeads, -0.5f);
    const Buffer a_scale = on_device(machine, kValueHeads * 4, scale.data());
    const Buffer bias = floats_on_device(machine, kValueHeads, 10);
    std::vector<int32_t> heads;
    for (int i = 0; i < kValueHeads; ++i) heads.push_back(i / 2);
    const Buffer map = on_device(machine, kValueHeads * 4, heads.data());
    const Buffer state = floats_on_device(machine, kValueHeads * kState * kState, 11);
    const Buffer out = on_device(machine, count * kValueHeads * kState * 4);
    const double ms = median_ms(backend, 10, [&] {
        backend.gated_delta({tokens, kKeyHeads, kValueHeads, kState, kState, qkv.as<float>(), b.as<float>(),
                             a.as<float>(), a_scale.as<float>(), bias.as<float>(), map.as<int32_t>(), state.as<float>(),
                             out.as<float>(), form});
    });
    fmt::print("{:<32} {:>8.4f} ms\n", name, ms);
}

void time_sampling(const Machine& machine, const char* filters, const SamplingRule& rule) {
    constexpr int kVocab = 248320;
    const std::string name = fmt::format("sampling of {} logits, {}", kVocab, filters);
    if (!machine.wants(name)) return;
    const Buffer logits = floats_on_device(machine, kVocab, 12);
    DrawInput input;
    input.random = 0.37;
    const Buffer input_there = on_device(machine, sizeof input, &input);
    const Buffer id = on_device(machine, sizeof(int32_t));
    Backend& backend = *machine.backend;
    const auto pick = [&] {
        backend.sample({logits.as<float>(), kVocab, rule, input_there.as<DrawInput>(), id.as<int32_t>()});
    };
    const std::vector<uint64_t> key = {77, static_cast<uint64_t>(rule.top_k), rule.top_p<1, rule.temperature> 0};
    fmt::print("{:<56} {:>8.4f} ms\n", name, median_ms(backend, 20, [&] { backend.repeat(key, 0, pick); }));
}

int run(std::vector<std::string> only) {
    Result<std::unique_ptr<Backend>> backend = make_cuda_backend({});
    if (!backend) {
        fmt::print("{}\n", backend.error().message);
        return 1;
    }
    Machine machine{std::move(*backend), 0, std::move(only)};
    const Result<double> bandwidth = cuda_read_gb_per_s(*machine.backend, int64_t{4} << 30);
    if (!bandwidth) {
        fmt::print("{}\n", bandwidth.error().message);
        return 1;
    }
    machine.gb_per_s = *bandwidth;
    fmt::print("{}\nreading 4 GiB: {:.0f} GB/s\n", machine.backend->name(), *bandwidth);
    for (const int64_t cells : {int64_t{32768}, int64_t{131072}, int64_t{262144}})
        time_attention(machine, cells, cells == 131072);
    for (const int64_t depth : {int64_t{0}, int64_t{32768}}) {
        for (const KvFormat format : {KvFormat::f16, KvFormat::bf16, KvFormat::q8_0, KvFormat::q6_0, KvFormat::q4_0}) {
            time_prefill_attention(machine, format, format, depth);
        }
        time_prefill_attention(machine, KvFormat::q2c, KvFormat::q4_0, depth);
        time_prefill_attention(machine, KvFormat::q4_nl, KvFormat::q4_nl, depth);
    }
    time_matmul(machine, WeightType::f32, 256, 2048, 512);  // a router
    for (const WeightType type :
         {WeightType::bf16, WeightType::q8_0, WeightType::q4_0, WeightType::q4_k, WeightType::q5_k, WeightType::q6_k,
          WeightType::iq4_xs, WeightType::iq4_nl, WeightType::q3_k, WeightType::q2_k, WeightType::mxfp4,
          WeightType::f8_e4m3, WeightType::f8_e4m3_blocks, WeightType::nvfp4_apart}) {
        time_matmul(machine, type, 8192, 2048, 1);
        time_matmul(machine, type, 2048, 4096, 1);
        time_matmul(machine, type, 248320, 2048, 1);
        time_matmul(machine, type, 248320, 2048, 4);
        time_matmul(machine, type, 8192, 2048, 512);
        time_matmul(machine, type, 8192, 2048, 4096);
        time_matmul(machine, type, 8192, 8192, 8192);
        time_experts(machine, type, 1);
        time_experts(machine, type, 512);
    }
    time_delta(machine, 1, DeltaForm::recurrent);
    for (const int tokens : {64, 512, 4096}) {
        for (const DeltaForm form : {DeltaForm::recurrent, DeltaForm::chunked}) time_delta(machine, tokens, form);
    }
    time_sampling(machine, "greedy", {});
    time_sampling(machine, "temperature", {.temperature = 0.7f});
    time_sampling(machine, "top-p", {.temperature = 0.7f, .top_p = 0.95f});
    time_sampling(machine, "top-k, top-p", {.temperature = 0.7f, .top_k = 20, .top_p = 0.95f});
    return 0;
}

}  // namespace
}  // namespace octavo

int main(int count, char** arguments) { return octavo::run({arguments + 1, arguments + count}); }
