// Attention, KV store, causal convolution and gated delta rule of the fast CPU back end, for every instruction set that
// this machine has: against the reference, and against themselves split in other ways.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"
#include "tests/support/random.h"

namespace octavo {
namespace {

using test::InputFamily;
using test::make_input;

std::vector<CpuIsa> isas() {
    std::vector<CpuIsa> all;
    for (const CpuIsa isa : {CpuIsa::generic, CpuIsa::avx2, CpuIsa::avx512}) {
        if (isa <= detect_cpu_isa()) all.push_back(isa);
    }
    return all;
}

std::vector<double> bounds_of(const std::vector<float>& want, double relative, double absolute) {
    double largest = 0;
    for (const float value : want) largest = std::max(largest, std::fabs(static_cast<double>(value)));
    return std::vector<double>(want.size(), relative * largest + absolute);
}

// ---- attention -----------------------------------------------------------------------------------------------------

struct Shape {
    int heads;
    int kv_heads;
    int head_dim;
};

// A cache of raw rows with random content, and the queries of its last tokens.
struct AttentionCase {
    Shape shape;
    int64_t cells;
    std::vector<std::byte> k_bytes, v_bytes;
    std::vector<float> k, v, q, q_gate;
    KvView cache;

    AttentionCase(Shape s, KvFormat k_format, KvFormat v_format, int64_t cell_count, InputFamily family)
        : shape(s), cells(cell_count) {
        const int64_t rows = cells * s.kv_heads;
        k_bytes.resize(static_cast<size_t>(rows * kv_payload_bytes_per_row(k_format, s.head_dim)));
        v_bytes.resize(static_cast<size_t>(rows * kv_payload_bytes_per_row(v_format, s.head_dim)));
        k = make_input(family, rows * s.head_dim, 1);
        v = make_input(family, rows * s.head_dim, 2);
        q = make_input(InputFamily::gaussian, cells * s.heads * s.head_dim, 3);
        q_gate = make_input(InputFamily::gaussian, cells * s.heads * s.head_dim * 2, 4);
        cache.kv_heads = s.kv_heads;
        cache.head_dim = s.head_dim;
        cache.k.format = k_format;
        cache.k.payload = k_bytes.data();
        cache.v.format = v_format;
        cache.v.payload = v_bytes.data();
    }

    bool store(Backend& backend, int64_t first, int tokens) {
        const int64_t floats = int64_t{shape.kv_heads} * shape.head_dim;
        return backend.kv_store({.cache = cache,
                                 .first_cell = first,
                                 .tokens = tokens,
                                 .k = k.data() + first * floats,
                                 .v = v.data() + first * floats});
    }

    // Output of `tokens` queries from cell `first` on: [tokens][heads][head_dim].
    std::vector<float> attend(Backend& backend, int64_t first, int tokens) const {
        const int64_t q_floats = int64_t{shape.heads} * shape.head_dim;
        const int64_t k_floats = int64_t{shape.kv_heads} * shape.head_dim;
        std::vector<float> out(static_cast<size_t>(tokens * q_floats));
        backend.attention({.cache = cache,
                           .first_cell = first,
                           .tokens = tokens,
                           .heads = shape.heads,
                           .q = q.data() + first * q_floats,
                           .q_gate = q_gate.data() + first * q_floats * 2,
                           .k_new = k.data() + first * k_floats,
                           .v_new = v.data() + first * k_floats,
                           .out = out.data()});
        return out;
    }

    std::vector<test::Dimension> dimensions(int tokens) const {
        return {{"token", tokens}, {"head", shape.heads}, {"channel", shape.head_dim}};
    }
};

constexpr Shape kShapes[] = {{4, 2, 256}, {16, 2, 64}, {3, 3, 128}, {4, 1, 36}, {40, 1, 20}};
constexpr KvFormat kRawFormats[] = {KvFormat::f32, KvFormat::f16, KvFormat::bf16};

TEST(CpuAttention, AgreesWithTheReference) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const Shape& shape : kShapes) {
        for (const KvFormat k_format : kRawFormats) {
            for (const KvFormat v_format : kRawFormats) {
                AttentionCase c(shape, k_format, v_format, 530, InputFamily::gaussian);
                ASSERT_TRUE(c.store(*reference, 0, 530));
                for (const auto& [first, tokens] : {std::pair{0, 1}, {0, 40}, {254, 5}, {529, 1}, {490, 40}}) {
                    const std::vector<float> want = c.attend(*reference, first, tokens);
                    for (const CpuIsa isa : isas()) {
                        const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
                        EXPECT_TRUE(test::within_bounds(c.attend(*backend, first, tokens), want,
                                                        bounds_of(want, 1e-5, 1e-7), c.dimensions(tokens)))
                            << backend->name() << ", " << kv_format_spec(k_format).name << "/"
                            << kv_format_spec(v_format).name << ", head_dim " << shape.head_dim << ", from " << first;
                    }
                }
            }
        }
    }
}

TEST(CpuAttention, AgreesWithTheReferenceForEveryInputFamily) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
        for (const InputFamily family : test::all_input_families()) {
            AttentionCase c({4, 2, 64}, KvFormat::f16, KvFormat::f32, 300, family);
            ASSERT_TRUE(c.store(*backend, 0, 300));
            const std::vector<float> want = c.attend(*reference, 0, 300);
            EXPECT_TRUE(
                test::within_bounds(c.attend(*backend, 0, 300), want, bounds_of(want, 1e-5, 1e-30), c.dimensions(300)))
                << backend->name() << ", " << test::input_family_name(family);
        }
    }
}

TEST(CpuAttention, GivesAQueryTheSameBitsInEveryCallAndWithAnyNumberOfThreads) {
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> one = make_cpu_backend(1, isa);
        const std::unique_ptr<Backend> two = make_cpu_backend(2, isa);
        for (const Shape& shape : kShapes) {
            AttentionCase c(shape, KvFormat::f16, KvFormat::bf16, 700, InputFamily::gaussian);
            ASSERT_TRUE(c.store(*two, 0, 700));
            const std::vector<float> whole = c.attend(*two, 0, 700);
            const size_t token_floats = static_cast<size_t>(shape.heads) * static_cast<size_t>(shape.head_dim);
            test::Random random(7);
            for (int64_t first = 0; first < 700;) {
                const int tokens = static_cast<int>(std::min<int64_t>(1 + random.below(90), 700 - first));
                const auto* want = whole.data() + static_cast<size_t>(first) * token_floats;
                const std::span<const float> expected(want, static_cast<size_t>(tokens) * token_floats);
                for (Backend* backend : {one.get(), two.get()}) {
                    EXPECT_TRUE(test::same_bits(c.attend(*backend, first, tokens), expected, c.dimensions(tokens)))
                        << backend->name() << ", head_dim " << shape.head_dim << ", from " << first;
                }
                first += tokens;
            }
        }
    }
}

TEST(CpuKvStore, WritesTheReferenceBytes) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
        for (const KvFormat format : kRawFormats) {
            for (const InputFamily family : test::all_input_families()) {
                AttentionCase got({2, 2, 20}, format, format, 131, family);
                AttentionCase want({2, 2, 20}, format, format, 131, family);
                for (AttentionCase* c : {&got, &want}) {
                    c->k[3] = 1e-7f;           // a float16 subnormal
                    c->k[4] = 1.00048828125f;  // halfway between two float16 numbers
                    Backend& writer = c == &got ? *backend : *reference;
                    ASSERT_TRUE(c->store(writer, 0, 40));
                    ASSERT_TRUE(c->store(writer, 40, 91));
                }
                EXPECT_EQ(got.k_bytes, want.k_bytes) << backend->name() << ", " << kv_format_spec(format).name;
                EXPECT_EQ(got.v_bytes, want.v_bytes) << backend->name() << ", " << kv_format_spec(format).name;
            }
        }
    }
}

TEST(CpuKvStore, RefusesWhatAFormatCannotHold) {
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
        for (const KvFormat format : kRawFormats) {
            for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
                AttentionCase c({2, 2, 20}, format, format, 50, InputFamily::gaussian);
                c.v[997] = bad;
                EXPECT_FALSE(c.store(*backend, 0, 50)) << backend->name();
            }
        }
        AttentionCase c({2, 2, 20}, KvFormat::f16, KvFormat::f16, 50, InputFamily::gaussian);
        c.k[1999] = 65520.0f;  // rounds to infinity
        EXPECT_FALSE(c.store(*backend, 0, 50)) << backend->name();
    }
}

// ---- causal convolution --------------------------------------------------------------------------------------------

struct ConvCase {
    int channels;
    int kernel;
    int tokens;
    std::vector<float> x, weight, state;

    ConvCase(int c, int k, int t, InputFamily family = InputFamily::gaussian)
        : channels(c),
          kernel(k),
          tokens(t),
          x(make_input(family, int64_t{t} * c, 1)),
          weight(make_input(InputFamily::gaussian, int64_t{c} * k, 2)),
          state(make_input(InputFamily::gaussian, int64_t{k - 1} * c, 3)) {}

    // Output of tokens [first, first + count); the state moves on.
    std::vector<float> step(Backend& backend, int first, int count) {
        std::vector<float> y(static_cast<size_t>(count * channels));
        backend.causal_conv({.tokens = count,
                             .channels = channels,
                             .kernel = kernel,
                             .x = x.data() + int64_t{first} * channels,
                             .weight = weight.data(),
                             .state = state.data(),
                             .y = y.data()});
        return y;
    }
};

TEST(CpuCausalConv, AgreesWithTheReference) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
        for (const auto& [channels, kernel] : {std::pair{1024, 4}, {76, 4}, {20, 2}, {68, 3}, {4, 1}, {36, 7}}) {
            for (const int tokens : {1, 2, 3, 4, 150}) {
                for (const InputFamily family : test::all_input_families()) {
                    ConvCase got(channels, kernel, tokens, family);
                    ConvCase want(channels, kernel, tokens, family);
                    const std::vector<float> y = got.step(*backend, 0, tokens);
                    const std::vector<float> expected = want.step(*reference, 0, tokens);
                    EXPECT_TRUE(test::within_bounds(y, expected, bounds_of(expected, 1e-6, 1e-30),
                                                    {{"token", tokens}, {"channel", channels}}))
                        << backend->name() << ", kernel " << kernel << ", " << test::input_family_name(family);
                    EXPECT_TRUE(test::same_bits(got.state, want.state, {{"tap", kernel - 1}, {"channel", channels}}))
                        << backend->name() << ", kernel " << kernel;
                }
            }
        }
    }
}

TEST(CpuCausalConv, SplitAtRandomPointsEqualsWhole) {
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> one = make_cpu_backend(1, isa);
        const std::unique_ptr<Backend> two = make_cpu_backend(2, isa);
        ConvCase whole(140, 4, 200);
        const std::vector<float> want = whole.step(*two, 0, 200);
        ConvCase parts(140, 4, 200);
        std::vector<float> got;
        test::Random random(11);
        for (int first = 0; first < 200;) {
            const int count = static_cast<int>(std::min<int64_t>(random.below(12), 200 - first));
            const std::vector<float> y = parts.step(*one, first, count);
            got.insert(got.end(), y.begin(), y.end());
            first += count;
        }
        EXPECT_TRUE(test::same_bits(got, want, {{"token", 200}, {"channel", 140}})) << two->name();
        EXPECT_TRUE(test::same_bits(parts.state, whole.state, {{"tap", 3}, {"channel", 140}})) << two->name();
    }
}

// ---- gated delta rule ----------------------------------------------------------------------------------------------

struct DeltaShape {
    int key_heads;
    int value_heads;
    int key_dim;
    int value_dim;
};

struct DeltaCase {
    DeltaShape shape;
    std::vector<float> qkv, b, a, a_scale, dt_bias, state;
    std::vector<int32_t> key_head;

    DeltaCase(DeltaShape s, int tokens, InputFamily family = InputFamily::gaussian) : shape(s) {
        const int64_t width = int64_t{2} * s.key_heads * s.key_dim + int64_t{s.value_heads} * s.value_dim;
        qkv = make_input(family, tokens * width, 1);
        b = make_input(InputFamily::gaussian, int64_t{tokens} * s.value_heads, 2);
        a = make_input(InputFamily::gaussian, int64_t{tokens} * s.value_heads, 3);
        dt_bias = make_input(InputFamily::gaussian, s.value_heads, 4);
        state = make_input(InputFamily::gaussian, int64_t{s.value_heads} * s.key_dim * s.value_dim, 5);
        for (int head = 0; head < s.value_heads; ++head) {
            a_scale.push_back(-0.01f * static_cast<float>(1 << (head % 8)));  // from long to short memory
            key_head.push_back(head % s.key_heads);
        }
    }

    std::vector<float> step(Backend& backend, int first, int count, DeltaForm form) {
        const int64_t width =
            int64_t{2} * shape.key_heads * shape.key_dim + int64_t{shape.value_heads} * shape.value_dim;
        std::vector<float> out(static_cast<size_t>(count * shape.value_heads * shape.value_dim));
        backend.gated_delta({.tokens = count,
                             .key_heads = shape.key_heads,
                             .value_heads = shape.value_heads,
                             .key_dim = shape.key_dim,
                             .value_dim = shape.value_dim,
                             .qkv = qkv.data() + first * width,
                             .b = b.data() + int64_t{first} * shape.value_heads,
                             .a = a.data() + int64_t{first} * shape.value_heads,
                             .a_scale = a_scale.data(),
                             .dt_bias = dt_bias.data(),
                             .key_head_of_value_head = key_head.data(),
                             .state = state.data(),
                             .out = out.data(),
                             .form = form});
        return out;
    }

    std::vector<test::Dimension> out_dimensions(int tokens) const {
        return {{"token", tokens}, {"head", shape.value_heads}, {"column", shape.value_dim}};
    }
    std::vector<test::Dimension> state_dimensions() const {
        return {{"head", shape.value_heads}, {"key", shape.key_dim}, {"column", shape.value_dim}};
    }
};

constexpr DeltaShape kDeltaShapes[] = {
    {4, 8, 64, 64}, {2, 4, 128, 128}, {2, 2, 32, 32}, {1, 3, 20, 44}, {1, 1, 64, 256}};

TEST(CpuGatedDelta, BothFormsAgreeWithTheReference) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const DeltaShape& shape : kDeltaShapes) {
        for (const int tokens : {1, 3, 64, 65, 150}) {
            DeltaCase want(shape, tokens);
            const std::vector<float> expected = want.step(*reference, 0, tokens, DeltaForm::recurrent);
            for (const CpuIsa isa : isas()) {
                const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
                for (const DeltaForm form : {DeltaForm::recurrent, DeltaForm::chunked, DeltaForm::automatic}) {
                    DeltaCase got(shape, tokens);
                    const std::vector<float> out = got.step(*backend, 0, tokens, form);
                    EXPECT_TRUE(test::within_bounds(out, expected, bounds_of(expected, 1e-5, 1e-30),
                                                    got.out_dimensions(tokens)))
                        << backend->name() << ", form " << static_cast<int>(form) << ", tokens " << tokens;
                    EXPECT_TRUE(test::within_bounds(got.state, want.state, bounds_of(want.state, 1e-5, 1e-30),
                                                    got.state_dimensions()))
                        << backend->name() << ", form " << static_cast<int>(form) << ", tokens " << tokens;
                }
            }
        }
    }
}

TEST(CpuGatedDelta, BothFormsAgreeWithTheReferenceForEveryInputFamily) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const InputFamily family : test::all_input_families()) {
        DeltaCase want({2, 4, 64, 64}, 100, family);
        const std::vector<float> expected = want.step(*reference, 0, 100, DeltaForm::recurrent);
        for (const CpuIsa isa : isas()) {
            const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
            for (const DeltaForm form : {DeltaForm::recurrent, DeltaForm::chunked}) {
                DeltaCase got({2, 4, 64, 64}, 100, family);
                const std::vector<float> out = got.step(*backend, 0, 100, form);
                EXPECT_TRUE(
                    test::within_bounds(out, expected, bounds_of(expected, 1e-5, 1e-30), got.out_dimensions(100)))
                    << backend->name() << ", form " << static_cast<int>(form) << ", "
                    << test::input_family_name(family);
            }
        }
    }
}

TEST(CpuGatedDelta, SplitAtRandomPointsEqualsWhole) {
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
        DeltaCase whole({4, 8, 64, 64}, 300);
        const std::vector<float> want = whole.step(*backend, 0, 300, DeltaForm::automatic);
        DeltaCase parts({4, 8, 64, 64}, 300);
        std::vector<float> got;
        test::Random random(5);
        for (int first = 0; first < 300;) {
            const int64_t longest = random.below(3) == 0 ? 150 : 4;
            const int count = static_cast<int>(std::min<int64_t>(random.below(longest), 300 - first));
            const std::vector<float> out = parts.step(*backend, first, count, DeltaForm::automatic);
            got.insert(got.end(), out.begin(), out.end());
            first += count;
        }
        EXPECT_TRUE(test::within_bounds(got, want, bounds_of(want, 1e-5, 0), whole.out_dimensions(300)))
            << backend->name();
        EXPECT_TRUE(
            test::within_bounds(parts.state, whole.state, bounds_of(whole.state, 1e-5, 0), whole.state_dimensions()))
            << backend->name();
    }
}

TEST(CpuGatedDelta, HasTheSameBitsWithAnyNumberOfThreads) {
    for (const CpuIsa isa : isas()) {
        for (const DeltaShape& shape : kDeltaShapes) {
            for (const DeltaForm form : {DeltaForm::recurrent, DeltaForm::chunked}) {
                DeltaCase one(shape, 130);
                DeltaCase many(shape, 130);
                const std::vector<float> want = one.step(*make_cpu_backend(1, isa), 0, 130, form);
                const std::vector<float> got = many.step(*make_cpu_backend(3, isa), 0, 130, form);
                EXPECT_TRUE(test::same_bits(got, want, one.out_dimensions(130)));
                EXPECT_TRUE(test::same_bits(many.state, one.state, one.state_dimensions()));
            }
        }
    }
}

}  // namespace
}  // namespace octavo
