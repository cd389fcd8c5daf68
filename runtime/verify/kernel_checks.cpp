#include "runtime/verify/kernel_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "kernels/cuda/cuda.h"
#include "kernels/host_arrays.h"
#include "runtime/kv/kv_cache.h"
#include "runtime/verify/check_inputs.h"

namespace octavo {
namespace {

constexpr float kFloatTolerance = 1e-4f;
constexpr float kIntegerTolerance = 2e-2f;  // where activations may be rounded to 8 bits (weights in blocks)
constexpr int kTokenCounts[] = {1, 5, 70};  // decode, a short prompt, more than one chunk

float tolerance_of(const WeightTypeSpec& type) { return type.block_values > 1 ? kIntegerTolerance : kFloatTolerance; }

// Columns that are whole blocks of any type, and about `wanted`.
int64_t block_columns(const WeightTypeSpec& type, int64_t wanted) {
    return (wanted + type.block_values - 1) / type.block_values * type.block_values;
}

// Runs `work` on both back ends; it fills a vector that must come out the same.
Status compare(Backend& reference, Backend& tested, float tolerance,
               const std::function<std::vector<float>(Backend&)>& work) {
    const std::vector<float> expected = work(reference);
    return check_close(expected, work(tested), tolerance);
}

size_t count(int64_t a, int64_t b = 1, int64_t c = 1) { return static_cast<size_t>(a * b * c); }

Status check_matmul(Backend& reference, Backend& tested) {
    constexpr int64_t kRows = 67;
    for (const WeightTypeSpec& type : weight_types()) {
        const int64_t cols = block_columns(type, 192);
        for (const int tokens : kTokenCounts) {
            const RandomMatrix weights(type.type, kRows, cols, 1);
            const std::vector<float> x = random_floats(count(tokens, cols), 2);
            const Status same = compare(reference, tested, tolerance_of(type), [&](Backend& backend) {
                std::vector<float> y(count(tokens, kRows));
                const MatmulTarget target{weights.matrix(), y.data(), kRows, false};
                backend.matmul(x.data(), tokens, {&target, 1});
                return y;
            });
            if (!same)
                return Error{ErrorKind::device,
                             fmt::format("{}, {} tokens: {}", type.name, tokens, same.error().message)};
        }
    }
    return {};
}

Status check_norms(Backend& reference, Backend& tested) {
    constexpr int kRows = 7;
    constexpr int kWidth = 96;
    const std::vector<float> x = random_floats(count(kRows, kWidth), 3);
    const std::vector<float> z = random_floats(count(kRows, kWidth), 4, 4.0f);
    const std::vector<float> weight = random_floats(kWidth, 5);
    return compare(reference, tested, kFloatTolerance, [&](Backend& backend) {
        std::vector<float> y(2 * x.size());
        backend.rms_norm(x.data(), kRows, kWidth, weight.data(), 1e-6f, y.data());
        backend.gated_norm({kRows, kWidth, 1e-6f, x.data(), z.data(), weight.data(), y.data() + x.size()});
        return y;
    });
}

Status check_moe(Backend& reference, Backend& tested) {
    constexpr int kHidden = 96, kExperts = 6, kWidth = 64;
    std::vector<RandomMatrix> matrices;
    for (int i = 0; i < 3 * (kExperts + 1); ++i) {
        const bool down = i % 3 == 2;
        matrices.emplace_back(WeightType::f32, down ? kHidden : kWidth, down ? kWidth : kHidden, 100 + i);
    }
    std::vector<FfnMatrices> experts;
    for (size_t i = 0; i < matrices.size(); i += 3)
        experts.push_back({matrices[i].matrix(), matrices[i + 1].matrix(), matrices[i + 2].matrix()});
    const FfnMatrices shared = experts.back();
    experts.pop_back();
    for (const int tokens : kTokenCounts) {
        const std::vector<float> x = random_floats(count(tokens, kHidden), 6, 2.0f);
        const std::vector<float> router = random_floats(count(tokens, kExperts), 7, 3.0f);
        const std::vector<float> gate = random_floats(count(tokens), 8);
        const Status same = compare(reference, tested, kFloatTolerance, [&](Backend& backend) {
            std::vector<float> y = random_floats(x.size(), 9);
            backend.moe({.tokens = tokens,
                         .hidden = kHidden,
                         .top_k = 2,
                         .experts = experts,
                         .shared = &shared,
                         .x = x.data(),
                         .router_logits = router.data(),
                         .shared_gate = gate.data(),
                         .y = y.data()});
            return y;
        });
        if (!same) return same;
    }
    return {};
}

// Two passes over a real cache, `before` tokens and then T; the attention of the second.
std::vector<float> attend(Backend& backend, const KvSettings& settings, int before, int tokens) {
    constexpr int kHeads = 4, kKvHeads = 2, kDim = 64;
    const int cells = before + tokens;
    Result<KvCache> cache = KvCache::create({1, kKvHeads, kDim}, settings, cells, backend.memory());
    if (!cache || !cache->commit(cells)) return {NAN};
    std::vector<float> k = random_floats(count(cells, kKvHeads, kDim), 10);
    std::vector<float> v = random_floats(count(cells, kKvHeads, kDim), 11);
    std::vector<float> q = random_floats(count(tokens, kHeads, kDim), 12, 3.0f);
    const std::vector<float> gate = random_floats(count(tokens, kHeads, 2 * kDim), 13);
    std::vector<float> out(count(tokens, kHeads, kDim));
    const auto rows = [&](int first, int length) {
        const size_t offset = count(first, kKvHeads, kDim);
        return KvRows{cache->view(0), first, length, k.data() + offset, v.data() + offset};
    };
    if (before > 0) {
        const KvRows older = rows(0, before);
        backend.kv_basis(older, nullptr, 0);
        backend.kv_store(older);
        backend.kv_overlay(older);
    }
    const KvRows fresh = rows(before, tokens);
    backend.kv_basis(fresh, q.data(), kHeads);
    backend.kv_store(fresh);
    Attention op;
    op.cache = fresh.cache;
    op.first_cell = before;
    op.tokens = tokens;
    op.heads = kHeads;
    op.q = q.data();
    op.q_gate = gate.data();
    op.k_new = fresh.k;
    op.v_new = fresh.v;
    op.out = out.data();
    backend.attention(op);
    return out;
}

Status check_attention(Backend& reference, Backend& tested) {
    for (const KvSchemeSpec& spec : kv_schemes())
        for (const int tokens : kTokenCounts)
            for (const int before : {0, 131}) {
                const Status same = compare(reference, tested, kFloatTolerance, [&](Backend& backend) {
                    return attend(backend, default_kv_settings({spec.k, spec.v}), before, tokens);
                });
                if (!same)
                    return Error{ErrorKind::device, fmt::format("{}, {} tokens after {}: {}", spec.name, tokens, before,
                                                                same.error().message)};
            }
    return {};
}

Status check_rope(Backend& reference, Backend& tested) {
    constexpr int kHeads = 4, kKvHeads = 2, kDim = 64, kRopeDims = 16, kTokens = 9;
    const std::vector<float> q_gate = random_floats(count(kTokens, kHeads, 2 * kDim), 14);
    const std::vector<float> norm = random_floats(count(kHeads, kDim), 15);
    const std::vector<float> angles = random_floats(count(kTokens, kRopeDims / 2), 16, 3.0f);
    std::vector<float> cosines, sines;
    for (const float angle : angles) {
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(angle));
    }
    return compare(reference, tested, kFloatTolerance, [&](Backend& backend) {
        const size_t q_size = count(kTokens, kHeads, kDim);
        std::vector<float> qk = random_floats(q_size + count(kTokens, kKvHeads, kDim), 17);
        backend.qk_norm_rope({kTokens, kHeads, kKvHeads, kDim, kRopeDims, 1e-6f, q_gate.data(), norm.data(),
                              norm.data(), cosines.data(), sines.data(), qk.data(), qk.data() + q_size});
        return qk;
    });
}

Status check_conv(Backend& reference, Backend& tested) {
    constexpr int kChannels = 48, kKernel = 4;
    const std::vector<float> weight = random_floats(count(kChannels, kKernel), 18);
    for (const int tokens : kTokenCounts) {
        const std::vector<float> x = random_floats(count(tokens, kChannels), 19);
        const Status same = compare(reference, tested, kFloatTolerance, [&](Backend& backend) {
            const size_t y_size = count(tokens, kChannels);
            std::vector<float> y_state = random_floats(y_size + count(kKernel - 1, kChannels), 20);
            backend.causal_conv(
                {tokens, kChannels, kKernel, x.data(), weight.data(), y_state.data() + y_size, y_state.data()});
            return y_state;
        });
        if (!same) return same;
    }
    return {};
}

Status check_delta(Backend& reference, Backend& tested) {
    constexpr int kKeyHeads = 2, kValueHeads = 4, kDim = 32;
    constexpr int kChannels = (2 * kKeyHeads + kValueHeads) * kDim;
    constexpr int32_t kKeyHeadOf[kValueHeads] = {0, 0, 1, 1};
    const std::vector<float> dt_bias = random_floats(kValueHeads, 21);
    const std::vector<float> a_scale = {-0.5f, -1.0f, -2.0f, -8.0f};
    for (const DeltaForm form : {DeltaForm::automatic, DeltaForm::recurrent, DeltaForm::chunked})
        for (const int tokens : kTokenCounts) {
            const std::vector<float> qkv = random_floats(count(tokens, kChannels), 22);
            const std::vector<float> b = random_floats(count(tokens, kValueHeads), 23, 3.0f);
            const std::vector<float> a = random_floats(count(tokens, kValueHeads), 24, 3.0f);
            const Status same = compare(reference, tested, kFloatTolerance, [&](Backend& backend) {
                const size_t out_size = count(tokens, kValueHeads, kDim);
                std::vector<float> out_state = random_floats(out_size + count(kValueHeads, kDim, kDim), 25);
                backend.gated_delta({tokens, kKeyHeads, kValueHeads, kDim, kDim, qkv.data(), b.data(), a.data(),
                                     a_scale.data(), dt_bias.data(), kKeyHeadOf, out_state.data() + out_size,
                                     out_state.data(), form});
                return out_state;
            });
            if (!same) return same;
        }
    return {};
}

Status check_lookups(Backend& reference, Backend& tested) {
    constexpr int kRows = 40;
    const std::vector<int32_t> ids = {0, 39, 7, 7, 12};
    for (const WeightTypeSpec& type : weight_types()) {
        const int64_t cols = block_columns(type, 64);
        std::vector<int32_t> backwards(count(cols));
        std::iota(backwards.rbegin(), backwards.rend(), 0);
        const RandomMatrix table(type.type, kRows, cols, 26);
        const Status same = compare(reference, tested, 0, [&](Backend& backend) {
            const size_t size = count(static_cast<int64_t>(ids.size()), cols);
            std::vector<float> rows(2 * size);
            backend.embed(table.matrix(), ids, rows.data());
            backend.gather_columns(rows.data(), static_cast<int>(ids.size()), cols, backwards, rows.data() + size);
            return rows;
        });
        if (!same) return same;
    }
    return {};
}

// What open_backend gives, with a GPU's float32 kernels.
Result<std::unique_ptr<Backend>> open_float32(const DeviceOptions& options) {
    if (options.device != DeviceChoice::cpu) {
        Result<std::unique_ptr<Backend>> cuda =
            make_cuda_backend({.budget_bytes = options.gpu_budget_bytes, .float32 = true});
        if (cuda || options.device == DeviceChoice::cuda) return cuda;
    }
    DeviceOptions cpu = options;
    cpu.device = DeviceChoice::cpu;
    return open_backend(cpu);
}

constexpr KernelCheck kChecks[] = {
    {"matrix product", check_matmul}, {"mixture of experts", check_moe},
    {"norms", check_norms},           {"head norm and rotary", check_rope},
    {"attention", check_attention},   {"causal convolution", check_conv},
    {"Gated DeltaNet", check_delta},  {"embedding and reordering", check_lookups},
};

}  // namespace

std::span<const KernelCheck> kernel_checks() { return kChecks; }

Status check_kernel(const KernelCheck& check, const DeviceOptions& options) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    Result<std::unique_ptr<Backend>> opened = open_float32(options);
    if (!opened) return opened.error();
    const std::unique_ptr<Backend> tested = on_host_arrays(std::move(*opened));
    Status status = check.run(*reference, *tested);
    if (status) status = tested->finish();
    if (!status) return Error{status.error().kind, fmt::format("on {}: {}", tested->name(), status.error().message)};
    return status;
}

}  // namespace octavo
