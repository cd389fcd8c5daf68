// Every back end against the reference, by input family and shape: products, norms, moves, and the feed-forward part.
// Cache and attention: backend_parity_kv_test.cpp; convolution and delta rule: backend_parity_mixers_test.cpp.
#include <algorithm>
#include <utility>

#include "kernels/placed_ffn.h"
#include "tests/support/backend_parity.h"
#include "tests/support/random.h"

namespace octavo {
namespace {

using namespace test;

class DenseParity : public BackendParity {};
INSTANTIATE_TEST_SUITE_P(Backends, DenseParity, testing::ValuesIn(backends_under_test()), parity_name);

struct MatmulShape {
    int64_t rows;
    int64_t cols;
    int tokens;
};
constexpr MatmulShape kMatmulShapes[] = {{1, 32, 1},    {3, 96, 2},    {17, 64, 3},    {64, 256, 17},  {33, 160, 63},
                                         {20, 352, 64}, {7, 1024, 65}, {48, 224, 130}, {5, 7, 3},      {9, 33, 17},
                                         {16, 100, 2},  {130, 32, 1},  {5, 1056, 17},  {6, 2080, 100}, {35, 512, 1},
                                         {3, 768, 70},  {131, 256, 4}, {140, 384, 1}};

// One call with a target per weight type, the targets side by side in y with a gap after each row; every other target
// is added to what is there.
class MatmulCase {
  public:
    MatmulCase(const MatmulShape& shape, InputFamily weights, InputFamily inputs)
        : shape_(shape), x_(make_input(inputs, shape.tokens * shape.cols, 1)) {
        for (const WeightTypeSpec& spec : weight_types()) {
            if (shape.cols % spec.block_values != 0) continue;
            const float scale = matrices_.size() % 3 == 2 ? 0.37f : 1.0f;
            matrices_.emplace_back(spec.type, shape.rows, shape.cols, weights, 2 + matrices_.size(), scale);
        }
        width_ = static_cast<int64_t>(matrices_.size()) * shape.rows + kGap;
        before_ = make_input(InputFamily::gaussian, shape.tokens * width_, 99);
    }

    Values run(Backend& backend) const {
        Values y = before_;
        std::vector<MatmulTarget> targets;
        for (size_t i = 0; i < matrices_.size(); ++i) {
            targets.push_back(
                {.w = matrices_[i].view(), .y = &y[i * shape_.rows], .y_stride = width_, .accumulate = i % 2 == 1});
        }
        backend.matmul(x_.data(), shape_.tokens, targets);
        return y;
    }

    Bounds bounds() const {
        Bounds bounds(before_.size());  // zero in the gap
        for (size_t i = 0; i < matrices_.size(); ++i) {
            const Values w = matrices_[i].decoded();
            for (int64_t t = 0; t < shape_.tokens; ++t) {
                for (int64_t r = 0; r < shape_.rows; ++r) {
                    const size_t at = t * width_ + i * shape_.rows + r;
                    const double magnitude = dot_magnitude(&w[r * shape_.cols], &x_[t * shape_.cols], shape_.cols);
                    bounds[at] = kBounds.matmul * (magnitude + std::fabs(before_[at])) + kSmallest;
                    if (low_bit(matrices_[i].view().type))
                        bounds[at] += rounding_bound(&w[r * shape_.cols], &x_[t * shape_.cols], shape_.cols);
                }
            }
        }
        return bounds;
    }

    std::vector<Dimension> dimensions() const { return {{"token", shape_.tokens}, {"column of y", width_}}; }

  private:
    static constexpr int64_t kGap = 3;
    MatmulShape shape_;
    Values x_;
    std::vector<TestMatrix> matrices_;
    int64_t width_ = 0;
    Values before_;
};

TEST_P(DenseParity, Matmul) {
    for_each_family([&](InputFamily family) {
        for (const bool in_weights : {false, true}) {
            for (const MatmulShape& shape : kMatmulShapes) {
                SCOPED_TRACE(testing::Message() << "rows " << shape.rows << ", cols " << shape.cols << ", tokens "
                                                << shape.tokens << (in_weights ? ", family in w" : ", family in x"));
                const MatmulCase test_case(shape, in_weights ? family : InputFamily::gaussian,
                                           in_weights ? InputFamily::gaussian : family);
                EXPECT_TRUE(within_bounds(test_case.run(*backend_), test_case.run(*reference_), test_case.bounds(),
                                          test_case.dimensions()));
            }
        }
    });
}

struct RowsShape {
    int rows;
    int width;
};
constexpr RowsShape kNormShapes[] = {{1, 1},    {2, 7},   {3, 16},   {17, 33},  {63, 48},
                                     {64, 100}, {65, 31}, {130, 64}, {2, 2048}, {3, 1000}};

TEST_P(DenseParity, RmsNorm) {
    for_each_family([&](InputFamily family) {
        for (const RowsShape& shape : kNormShapes) {
            SCOPED_TRACE(testing::Message() << "rows " << shape.rows << ", width " << shape.width);
            const Values x = make_input(family, int64_t{shape.rows} * shape.width, 1);
            const Values weight = make_input(InputFamily::gaussian, shape.width, 2);
            Values got(x.size());
            Values want(x.size());
            backend_->rms_norm(x.data(), shape.rows, shape.width, weight.data(), 1e-6f, got.data());
            reference_->rms_norm(x.data(), shape.rows, shape.width, weight.data(), 1e-6f, want.data());
            Bounds bounds;
            for (const float value : want) bounds.push_back(kBounds.rms_norm * std::fabs(value) + kSmallest);
            EXPECT_TRUE(within_bounds(got, want, bounds, {{"row", shape.rows}, {"column", shape.width}}));
        }
    });
}

TEST_P(DenseParity, GatedNormInPlace) {
    for_each_family([&](InputFamily family) {
        for (const RowsShape& shape : kNormShapes) {
            SCOPED_TRACE(testing::Message() << "rows " << shape.rows << ", width " << shape.width);
            const int64_t count = int64_t{shape.rows} * shape.width;
            const Values x = make_input(family, count, 1);
            Values z = make_input(family, count, 2);
            for (size_t i = 0; i < z.size(); i += 2) z[i] = -z[i];
            const Values weight = make_input(InputFamily::gaussian, shape.width, 3);
            GatedNorm op{
                .rows = shape.rows, .width = shape.width, .rms_eps = 1e-6f, .z = z.data(), .weight = weight.data()};
            Values got = x;
            op.x = op.y = got.data();
            backend_->gated_norm(op);
            Values want = x;
            op.x = op.y = want.data();
            reference_->gated_norm(op);
            Bounds bounds;
            // e^z may stop at the end of float32's range: then y is not 0 but |z| e^-87 or so of the normed value.
            for (int64_t i = 0; i < count; ++i) {
                const double normed = std::sqrt(static_cast<double>(shape.width)) * weight[i % shape.width];
                bounds.push_back(kBounds.gated_norm * std::fabs(want[i]) + 1e-35 * std::fabs(normed * z[i]) +
                                 kSmallest);
            }
            EXPECT_TRUE(within_bounds(got, want, bounds, {{"row", shape.rows}, {"column", shape.width}}));
        }
    });
}

struct HeadsShape {
    int tokens;
    int heads;
    int kv_heads;
    int head_dim;
    int rope_dims;
};
constexpr HeadsShape kHeadsShapes[] = {{1, 4, 2, 64, 16},  {2, 8, 2, 256, 64}, {3, 2, 1, 20, 6},
                                       {17, 2, 2, 32, 32}, {65, 4, 1, 48, 24}, {130, 2, 1, 64, 0}};

// Difference allowed at each value of [heads][head_dim]: by the length of the pair it was rotated in.
void append_rope_bounds(const Values& want, const HeadsShape& shape, Bounds& bounds) {
    const int pairs = shape.rope_dims / 2;
    for (size_t head = 0; head < want.size(); head += shape.head_dim) {
        for (int i = 0; i < shape.head_dim; ++i) {
            double magnitude = std::fabs(want[head + i]);
            if (i < shape.rope_dims)
                magnitude = std::hypot(magnitude, want[head + (i < pairs ? i + pairs : i - pairs)]);
            bounds.push_back(kBounds.qk_norm_rope * magnitude + kSmallest);
        }
    }
}

TEST_P(DenseParity, QkNormRope) {
    for_each_family([&](InputFamily family) {
        for (const HeadsShape& shape : kHeadsShapes) {
            SCOPED_TRACE(testing::Message() << "tokens " << shape.tokens << ", heads " << shape.heads << "/"
                                            << shape.kv_heads << ", head_dim " << shape.head_dim);
            const int64_t q_count = int64_t{shape.tokens} * shape.heads * shape.head_dim;
            const int64_t k_count = int64_t{shape.tokens} * shape.kv_heads * shape.head_dim;
            const Values q_gate = make_input(family, 2 * q_count, 1);
            const Values k = make_input(family, k_count, 2);
            const Values q_norm = make_input(InputFamily::gaussian, int64_t{shape.heads} * shape.head_dim, 3);
            const Values k_norm = make_input(InputFamily::gaussian, int64_t{shape.kv_heads} * shape.head_dim, 4);
            Values cos;
            Values sin;
            for (int i = 0; i < shape.tokens * shape.rope_dims / 2; ++i) {
                cos.push_back(static_cast<float>(std::cos(0.7 * i)));
                sin.push_back(static_cast<float>(std::sin(0.7 * i)));
            }
            const auto run = [&](Backend& backend, Values& q_out, Values& k_out) {
                backend.qk_norm_rope({.tokens = shape.tokens,
                                      .heads = shape.heads,
                                      .kv_heads = shape.kv_heads,
                                      .head_dim = shape.head_dim,
                                      .rope_dims = shape.rope_dims,
                                      .rms_eps = 1e-6f,
                                      .q_gate = q_gate.data(),
                                      .q_norm = q_norm.data(),
                                      .k_norm = k_norm.data(),
                                      .cos = cos.data(),
                                      .sin = sin.data(),
                                      .q = q_out.data(),
                                      .k = k_out.data()});
            };
            Values got_q(q_count), got_k = k, want_q(q_count), want_k = k;
            run(*backend_, got_q, got_k);
            run(*reference_, want_q, want_k);
            Bounds q_bounds, k_bounds;
            append_rope_bounds(want_q, shape, q_bounds);
            append_rope_bounds(want_k, shape, k_bounds);
            EXPECT_TRUE(within_bounds(got_q, want_q, q_bounds,
                                      {{"q: token", shape.tokens}, {"head", shape.heads}, {"value", shape.head_dim}}));
            EXPECT_TRUE(
                within_bounds(got_k, want_k, k_bounds,
                              {{"k: token", shape.tokens}, {"head", shape.kv_heads}, {"value", shape.head_dim}}));
        }
    });
}

TEST_P(DenseParity, EmbedIsExact) {
    const std::vector<int32_t> ids = {4, 0, 0, 8, 3};
    const int64_t tokens = static_cast<int64_t>(ids.size());
    for_each_family([&](InputFamily family) {
        for (const WeightTypeSpec& spec : weight_types()) {
            for (const int64_t blocks : {1, 3, 35}) {
                SCOPED_TRACE(testing::Message() << spec.name << ", blocks " << blocks);
                const TestMatrix table(spec.type, 9, blocks * spec.block_values, family, 1, 2.5f);
                const int64_t cols = table.view().cols;
                Values got(tokens * cols), want(tokens * cols);
                backend_->embed(table.view(), ids, got.data());
                reference_->embed(table.view(), ids, want.data());
                EXPECT_TRUE(same_bits(got, want, {{"token", tokens}, {"column", cols}}));
            }
        }
    });
}

TEST_P(DenseParity, GatherColumnsIsExact) {
    Random random(1);
    for (const int tokens : {1, 2, 3, 17, 130}) {
        for (const int64_t columns : {1, 7, 64, 100}) {
            const int64_t stride = columns + 5;
            const Values x = make_input(InputFamily::gaussian, tokens * stride, 2);
            std::vector<int32_t> source;
            for (int64_t i = 0; i < columns + 3; ++i) source.push_back(static_cast<int32_t>(random.below(columns)));
            Values got(tokens * source.size()), want(got.size());
            backend_->gather_columns(x.data(), tokens, stride, source, got.data());
            reference_->gather_columns(x.data(), tokens, stride, source, want.data());
            EXPECT_TRUE(same_bits(got, want, {{"token", tokens}, {"column", columns + 3}}));
        }
    }
}

struct MoeShape {
    int tokens;
    int hidden;
    int ff;
    int experts;  // 0: dense
    int top_k;
    WeightType type;
    bool shared;
};
constexpr MoeShape kMoeShapes[] = {{1, 64, 32, 8, 3, WeightType::q8_0, true},
                                   {2, 96, 64, 8, 8, WeightType::f32, true},
                                   {3, 32, 96, 5, 2, WeightType::bf16, false},
                                   {17, 64, 32, 16, 4, WeightType::f16, true},
                                   {65, 32, 64, 4, 1, WeightType::q8_0, true},
                                   {130, 32, 32, 6, 3, WeightType::q8_0, true},
                                   {3, 64, 160, 0, 0, WeightType::q8_0, true},
                                   {2, 36, 20, 3, 2, WeightType::f32, true},
                                   {2, 256, 256, 4, 2, WeightType::q4_k, true},
                                   {70, 256, 256, 3, 1, WeightType::q6_k, true},
                                   {3, 256, 384, 4, 2, WeightType::f8_e4m3_blocks, true},
                                   {1, 64, 32, 8, 3, WeightType::nvfp4_apart, true},
                                   {65, 96, 64, 4, 2, WeightType::nvfp4_apart, true},
                                   {4, 256, 128, 4, 3, WeightType::f8_e4m3_blocks, true},
                                   {70, 128, 256, 3, 1, WeightType::f8_e4m3_blocks, false},
                                   {2, 36, 20, 3, 2, WeightType::f8_e4m3, true},
                                   {40, 64, 48, 5, 2, WeightType::f8_e4m3, true}};

class MoeCase {
  public:
    MoeCase(const MoeShape& shape, InputFamily inputs)
        : shape_(shape),
          x_(make_input(inputs, int64_t{shape.tokens} * shape.hidden, 1)),
          router_logits_(make_input(InputFamily::gaussian, int64_t{shape.tokens} * shape.experts, 2)),
          shared_gate_(make_input(InputFamily::gaussian, shape.tokens, 3)),
          before_(make_input(InputFamily::gaussian, int64_t{shape.tokens} * shape.hidden, 4)) {
        for (float& logit : router_logits_) logit = std::round(logit * 2) / 2;  // many ties
        for (int e = 0; e < shape.experts + 1; ++e) {                           // the last one is the shared expert
            for (const auto& [rows, cols] : {std::pair(shape.ff, shape.hidden), std::pair(shape.ff, shape.hidden),
                                             std::pair(shape.hidden, shape.ff)}) {
                const float scale = 0.5f + 0.1f * static_cast<float>(matrices_.size() % 7);
                matrices_.emplace_back(shape.type, rows, cols, InputFamily::outliers, 5 + matrices_.size(), scale);
            }
        }
        for (size_t i = 0; i < matrices_.size(); i += 3) {
            ffns_.push_back({matrices_[i].view(), matrices_[i + 1].view(), matrices_[i + 2].view()});
        }
    }

    Values run(Backend& backend) const {
        Values y = before_;
        backend.moe({.tokens = shape_.tokens,
                     .hidden = shape_.hidden,
                     .top_k = shape_.top_k,
                     .experts = std::span(ffns_).first(static_cast<size_t>(shape_.experts)),
                     .shared = shape_.shared ? &ffns_.back() : nullptr,
                     .x = x_.data(),
                     .router_logits = router_logits_.data(),
                     .shared_gate = shape_.experts == 0 ? nullptr : shared_gate_.data(),
                     .y = y.data()});
        return y;
    }

    // Every third expert lies elsewhere.
    void leave_some_out() {
        for (size_t e = 1; e < static_cast<size_t>(shape_.experts); e += 3) ffns_[e] = absent_ffn(ffns_[e]);
    }

    // By the products of each chosen expert, with the error of the inner layer carried through the outer.
    Bounds bounds() const {
        Bounds bounds;
        for (const float value : before_) bounds.push_back(kBounds.moe * std::fabs(value) + kSmallest);
        for (int t = 0; t < shape_.tokens; ++t) {
            double* of_token = &bounds[static_cast<size_t>(t) * shape_.hidden];
            for (const int e : chosen(t)) add_magnitude(e, t, of_token);
            if (shape_.shared) add_magnitude(shape_.experts, t, of_token);
        }
        return bounds;
    }

    std::vector<Dimension> dimensions() const { return {{"token", shape_.tokens}, {"column", shape_.hidden}}; }

  private:
    std::vector<int> chosen(int token) const {
        std::vector<int> order(static_cast<size_t>(shape_.experts));
        for (int e = 0; e < shape_.experts; ++e) order[e] = e;
        const float* logits = router_logits_.data() + int64_t{token} * shape_.experts;
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
        order.resize(static_cast<size_t>(shape_.top_k));
        return order;
    }

    void add_magnitude(int expert, int token, double* bounds) const {
        const float* x = &x_[int64_t{token} * shape_.hidden];
        const Values gate = matrices_[expert * 3].decoded();
        const Values up = matrices_[expert * 3 + 1].decoded();
        const Values down = matrices_[expert * 3 + 2].decoded();
        Values h(static_cast<size_t>(shape_.ff));         // at most so large
        Values h_change(static_cast<size_t>(shape_.ff));  // what rounding x may change in it
        for (int r = 0; r < shape_.ff; ++r) {
            const float* gate_row = &gate[r * shape_.hidden];
            const float* up_row = &up[r * shape_.hidden];
            const double gate_magnitude = dot_magnitude(gate_row, x, shape_.hidden);
            const double up_magnitude = dot_magnitude(up_row, x, shape_.hidden);
            for (int i = 0; i < shape_.hidden; ++i) {
                bounds[i] += kBounds.moe * gate_magnitude * up_magnitude * std::fabs(down[i * shape_.ff + r]);
            }
            const double gate_change = rounding_bound(gate_row, x, shape_.hidden);
            const double up_change = rounding_bound(up_row, x, shape_.hidden);
            const double gate_value = dot(gate_row, x);
            const double up_value = dot(up_row, x);
            h_change[r] = static_cast<float>(1.1 * gate_change * (std::fabs(up_value) + up_change) +
                                             std::fabs(silu(gate_value)) * up_change);
            h[r] = static_cast<float>(std::fabs(silu(gate_value) * up_value) + h_change[r]);
        }
        if (!low_bit(shape_.type)) return;
        for (int i = 0; i < shape_.hidden; ++i) {
            const float* down_row = &down[i * shape_.ff];
            bounds[i] +=
                rounding_bound(down_row, h.data(), shape_.ff) + dot_magnitude(down_row, h_change.data(), shape_.ff);
        }
    }

    double dot(const float* row, const float* x) const {
        double sum = 0;
        for (int i = 0; i < shape_.hidden; ++i) sum += static_cast<double>(row[i]) * x[i];
        return sum;
    }

    MoeShape shape_;
    Values x_;
    Values router_logits_;
    Values shared_gate_;
    Values before_;
    std::vector<TestMatrix> matrices_;
    std::vector<FfnMatrices> ffns_;
};

TEST_P(DenseParity, Moe) {
    for_each_family([&](InputFamily family) {
        for (const MoeShape& shape : kMoeShapes) {
            SCOPED_TRACE(testing::Message() << "tokens " << shape.tokens << ", hidden " << shape.hidden << ", ff "
                                            << shape.ff << ", experts " << shape.experts << ", top " << shape.top_k
                                            << ", " << weight_type_spec(shape.type).name);
            MoeCase test_case(shape, family);
            const Bounds bounds = test_case.bounds();
            EXPECT_TRUE(
                within_bounds(test_case.run(*backend_), test_case.run(*reference_), bounds, test_case.dimensions()));
            if (family != InputFamily::gaussian) continue;
            test_case.leave_some_out();
            EXPECT_TRUE(
                within_bounds(test_case.run(*backend_), test_case.run(*reference_), bounds, test_case.dimensions()))
                << "with experts elsewhere";
        }
    });
}

}  // namespace
}  // namespace octavo
