#include "runtime/measure/kv_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "kernels/kv_hadamard.h"
#include "runtime/kv/kv_cache.h"

namespace octavo {
namespace {

KvShape shape_of(const KvActivations& a) { return {1, a.kv_heads, a.head_dim}; }

// One layer's cache filled with the activations as a model fills it, and attention over it.
class FilledCache {
  public:
    static Result<FilledCache> create(const KvActivations& activations, const KvSettings& settings, Backend& backend) {
        if (Status status = check_activations(activations); !status) return status.error();
        const KvShape shape = shape_of(activations);
        if (Status status = check_kv_settings(settings, shape, activations.cells); !status) return status.error();
        Result<KvCache> cache = KvCache::create(shape, settings, activations.cells, backend.memory());
        if (!cache) return cache.error();
        if (Status status = cache->commit(activations.cells); !status) return status.error();
        return FilledCache(std::move(*cache), activations, backend);
    }

    // Fills the cache; gives attention's output for the queries, out[queries][heads][head_dim].
    Result<std::vector<float>> fill() {
        const int64_t before = activations_->cells - activations_->queries;
        for (int64_t first = 0; first < before; first += kPassCells) {
            if (!pass(first, std::min(kPassCells, before - first), nullptr)) return does_not_fit();
        }
        std::vector<float> out(activations_->q.size());
        if (activations_->queries > 0 && !pass(before, activations_->queries, out.data())) return does_not_fit();
        return out;
    }

    // The rows that the last query reads, rotated back: [cells][kv_heads][head_dim].
    void read_back(std::vector<float>& k, std::vector<float>& v) const {
        k.resize(activations_->k.size());
        v.resize(activations_->v.size());
        const KvView view = cache_.view(0);
        backend_->kv_load({view, 0, static_cast<int>(activations_->cells), k.data(), v.data()},
                          activations_->cells - 1);
        if (view.k.rotate) rotate(k);
        if (view.v.rotate) rotate(v);
    }

  private:
    static constexpr int64_t kPassCells = 512;

    FilledCache(KvCache cache, const KvActivations& activations, Backend& backend)
        : cache_(std::move(cache)), activations_(&activations), backend_(&backend) {}

    bool pass(int64_t first, int64_t cells, float* out) {
        const KvActivations& a = *activations_;
        const int64_t width = int64_t{a.kv_heads} * a.head_dim;
        std::vector<float> k(a.k.begin() + first * width, a.k.begin() + (first + cells) * width);
        std::vector<float> v(a.v.begin() + first * width, a.v.begin() + (first + cells) * width);
        std::vector<float> q(static_cast<size_t>(cells * a.heads * a.head_dim));
        if (out != nullptr) q = a.q;
        const KvRows rows{cache_.view(0), first, static_cast<int>(cells), k.data(), v.data()};
        backend_->kv_basis(rows, q.data(), a.heads);
        if (!backend_->kv_store(rows)) return false;
        if (out != nullptr) attend(rows, q, out);
        backend_->kv_overlay(rows);
        return true;
    }

    void attend(const KvRows& rows, const std::vector<float>& q, float* out) {
        constexpr float kOpenGate = 100;  // its sigmoid is 1
        const std::vector<float> gates(2 * q.size(), kOpenGate);
        Attention op;
        op.cache = rows.cache;
        op.first_cell = rows.first_cell;
        op.tokens = rows.tokens;
        op.heads = activations_->heads;
        op.q = q.data();
        op.q_gate = gates.data();
        op.k_new = rows.k;
        op.v_new = rows.v;
        op.out = out;
        backend_->attention(op);
    }

    void rotate(std::vector<float>& rows) const {
        const auto dim = static_cast<size_t>(activations_->head_dim);
        for (size_t at = 0; at < rows.size(); at += dim) hadamard(rows.data() + at, activations_->head_dim);
    }

    Error does_not_fit() const {
        return {ErrorKind::input, fmt::format("Keys or values of \"{}\" are not finite or too large for {}.",
                                              activations_->family, kv_scheme_name(cache_.scheme()))};
    }

    KvCache cache_;
    const KvActivations* activations_;
    Backend* backend_;
};

double relative_rms(std::span<const float> exact, std::span<const float> actual) {
    double error = 0;
    double size = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
        const double difference = static_cast<double>(actual[i]) - static_cast<double>(exact[i]);
        error += difference * difference;
        size += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
    }
    return size == 0 ? std::sqrt(error) : std::sqrt(error / size);
}

}  // namespace

Status check_activations(const KvActivations& a) {
    const bool positive = a.heads > 0 && a.kv_heads > 0 && a.head_dim > 0 && a.cells > 0 && a.queries >= 0;
    const auto floats = [&a](int64_t rows, int heads) { return static_cast<size_t>(rows * heads * a.head_dim); };
    if (positive && a.heads % a.kv_heads == 0 && a.queries <= a.cells && a.k.size() == floats(a.cells, a.kv_heads) &&
        a.v.size() == a.k.size() && a.q.size() == floats(a.queries, a.heads)) {
        return {};
    }
    return Error{
        ErrorKind::input,
        fmt::format("Keys ({} values), values ({}) and queries ({}) of \"{}\" do not belong together: {} cells x "
                    "{} KV heads x {} and {} queries x {} heads.",
                    a.k.size(), a.v.size(), a.q.size(), a.family, a.cells, a.kv_heads, a.head_dim, a.queries, a.heads)};
}

Result<std::vector<float>> exact_attention(const KvActivations& activations) {
    KvSettings exact;
    exact.scheme = {KvFormat::f32, KvFormat::f32};
    const std::unique_ptr<Backend> oracle = make_reference_backend();
    Result<FilledCache> cache = FilledCache::create(activations, exact, *oracle);
    if (!cache) return cache.error();
    return cache->fill();
}

Result<KvError> measure_kv_error(const KvActivations& activations, const KvSettings& settings,
                                 std::span<const float> exact, Backend& backend) {
    Result<FilledCache> cache = FilledCache::create(activations, settings, backend);
    if (!cache) return cache.error();
    const Result<std::vector<float>> attention = cache->fill();
    if (!attention) return attention.error();
    if (exact.size() != attention->size()) {
        return Error{ErrorKind::usage,
                     "The exact attention output belongs to other activations; this is a fault of the "
                     "program."};
    }
    std::vector<float> k;
    std::vector<float> v;
    cache->read_back(k, v);
    return KvError{relative_rms(activations.k, k), relative_rms(activations.v, v),
                   attention->empty() ? 0 : relative_rms(exact, *attention)};
}

}  // namespace octavo
