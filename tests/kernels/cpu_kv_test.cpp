// The fast CPU back end on quantised caches, for every instruction set that this machine has: against the reference for
// all pairs of formats, and against itself, split in other ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"
#include "tests/support/kv_memory.h"
#include "tests/support/random.h"

namespace octavo {
namespace {

using test::InputFamily;
using test::KvMemory;
using test::KvShape;
using test::make_input;
using Values = std::vector<float>;

std::vector<std::unique_ptr<Backend>> backends(int threads) {
    std::vector<std::unique_ptr<Backend>> all;
    for (const CpuIsa isa : {CpuIsa::generic, CpuIsa::avx2, CpuIsa::avx512}) {
        if (isa <= detect_cpu_isa()) all.push_back(make_cpu_backend(threads, isa));
    }
    return all;
}

std::string describe(const KvShape& s) {
    return std::string(kv_format_spec(s.k).name) + "/" + std::string(kv_format_spec(s.v).name) + ", head_dim " +
           std::to_string(s.head_dim) + ", cells " + std::to_string(s.cells) + ", sinks " + std::to_string(s.sinks) +
           ", window " + std::to_string(s.window) + " from " + std::to_string(s.window_from);
}

// The inputs of a whole sequence, and the steps of passes over parts of it.
struct Sequence {
    KvShape shape;
    int heads;
    Values q, q_gate, k, v;

    Sequence(const KvShape& s, int query_heads, uint64_t seed = 1)
        : shape(s),
          heads(query_heads),
          q(make_input(InputFamily::gaussian, s.cells * query_heads * s.head_dim, seed)),
          q_gate(make_input(InputFamily::gaussian, s.cells * query_heads * s.head_dim * 2, seed + 1)),
          k(make_input(InputFamily::gaussian, s.cells * s.kv_heads * s.head_dim, seed + 2)),
          v(make_input(InputFamily::gaussian, s.cells * s.kv_heads * s.head_dim, seed + 3)) {}

    int64_t q_floats() const { return int64_t{heads} * shape.head_dim; }
    int64_t kv_floats() const { return int64_t{shape.kv_heads} * shape.head_dim; }

    // Brings all rows into the cache's basis; passes take them from here.
    void to_basis(Backend& backend, KvMemory& memory) {
        backend.kv_basis({memory.view(), 0, static_cast<int>(shape.cells), k.data(), v.data()}, q.data(), heads);
    }
    KvRows rows(const KvView& cache, int64_t first, int tokens) {
        return {cache, first, tokens, k.data() + first * kv_floats(), v.data() + first * kv_floats()};
    }
    Values attend(Backend& backend, const KvView& cache, int64_t first, int tokens) const {
        Values out(static_cast<size_t>(tokens * q_floats()));
        backend.attention({.cache = cache,
                           .first_cell = first,
                           .tokens = tokens,
                           .heads = heads,
                           .q = q.data() + first * q_floats(),
                           .q_gate = q_gate.data() + first * q_floats() * 2,
                           .k_new = k.data() + first * kv_floats(),
                           .v_new = v.data() + first * kv_floats(),
                           .out = out.data()});
        return out;
    }
    Values pass(Backend& backend, KvMemory& memory, int64_t first, int tokens) {
        EXPECT_TRUE(backend.kv_store(rows(memory.view(), first, tokens)));
        Values out = attend(backend, memory.view(), first, tokens);
        backend.kv_overlay(rows(memory.view(), first, tokens));
        return out;
    }
};

testing::AssertionResult close(const Values& got, const Values& want, const Sequence& s) {
    double largest = 0;
    for (const float value : want) largest = std::max(largest, std::fabs(static_cast<double>(value)));
    const int64_t tokens = static_cast<int64_t>(want.size()) / s.q_floats();
    return test::within(got, want, 1e-5 * largest + 1e-7,
                        {{"token", tokens}, {"head", s.heads}, {"channel", s.shape.head_dim}});
}

// A pass of the last `tokens` cells on top of what the reference stored: attention near the reference, bytes the same.
void expect_pass_like_the_reference(const KvShape& shape, int heads, int tokens,
                                    const std::vector<std::unique_ptr<Backend>>& all) {
    SCOPED_TRACE(describe(shape) + ", tokens " + std::to_string(tokens));
    const std::unique_ptr<Backend> reference = make_reference_backend();
    const int64_t first = shape.cells - tokens;
    KvMemory past(shape);
    Sequence sequence(shape, heads);
    sequence.to_basis(*reference, past);
    ASSERT_TRUE(reference->kv_store(sequence.rows(past.view(), 0, static_cast<int>(first))));
    reference->kv_overlay(sequence.rows(past.view(), 0, static_cast<int>(first)));
    KvMemory want_memory = past;
    const Values want = sequence.pass(*reference, want_memory, first, tokens);
    for (const std::unique_ptr<Backend>& backend : all) {
        KvMemory memory = past;
        EXPECT_TRUE(close(sequence.pass(*backend, memory, first, tokens), want, sequence)) << backend->name();
        EXPECT_TRUE(memory == want_memory) << backend->name() << ": other bytes";
    }
}

TEST(CpuKv, AttendsLikeTheReferenceForAllPairsOfFormats) {
    const auto all = backends(2);
    for (const KvFormatSpec& k : kv_formats()) {
        for (const KvFormatSpec& v : kv_formats()) {
            expect_pass_like_the_reference(
                {.k = k.format, .v = v.format, .kv_heads = 2, .cells = 105, .sinks = 3, .window = 20}, 4, 9, all);
        }
    }
}

TEST(CpuKv, AttendsLikeTheReferenceInEveryShape) {
    const auto all = backends(2);
    for (const auto& [k, v] : {std::pair{KvFormat::q8_0, KvFormat::q4_0},
                               {KvFormat::q2c, KvFormat::q2c},
                               {KvFormat::q6r, KvFormat::q6_0},
                               {KvFormat::q2c, KvFormat::q2t}}) {
        for (const int head_dim : {64, 128, 256}) {
            for (const int tokens : {1, 2, 33, 64, 130}) {
                KvShape shape = {.k = k, .v = v, .kv_heads = 1, .head_dim = head_dim, .cells = 290};
                expect_pass_like_the_reference(shape, 2, tokens, all);  // no copies
                shape.sinks = 5;
                shape.window = 40;
                shape.v_scale = true;
                expect_pass_like_the_reference(shape, 2, tokens, all);
            }
        }
    }
}

// Query heads that share a KV head: with few of them rows are multiplied as they lie in the cache.
TEST(CpuKv, AttendsLikeTheReferenceForEveryGroupSize) {
    const auto all = backends(1);
    for (const KvFormatSpec& spec : kv_formats()) {
        for (const int heads : {1, 2, 3, 4, 5, 8}) {
            for (const int64_t cells : {64, 291}) {
                expect_pass_like_the_reference({.k = spec.format, .v = spec.format, .head_dim = 96, .cells = cells},
                                               heads, 1, all);
            }
        }
    }
}

// Where the window, a window that was widened later, the sinks and a group end within a tile, or none is there.
TEST(CpuKv, ReadsTheRightCopyAtEveryEdge) {
    const auto all = backends(2);
    for (const auto& [k, v] : {std::pair{KvFormat::q4_0, KvFormat::q2c}, {KvFormat::q2c, KvFormat::q8_0}}) {
        for (const int64_t cells : {33, 63, 64, 65, 96, 97}) {
            for (const int tokens : {1, 31, 32, 33}) {
                for (const int64_t window : {0, 1, 31, 32, 33, 64, 200}) {
                    const KvShape shape = {.k = k,
                                           .v = v,
                                           .kv_heads = 2,
                                           .cells = cells,
                                           .sinks = window % 7,
                                           .window = window,
                                           .window_from = window == 64 ? 37 : 0};
                    expect_pass_like_the_reference(shape, 4, tokens, all);
                }
            }
        }
    }
}

TEST(CpuKv, ReadsRowsThatAreNotWholeVectors) {
    const auto all = backends(2);
    for (const auto& [format, head_dim] : {std::pair{KvFormat::q8r, 37},
                                           {KvFormat::q6r, 44},
                                           {KvFormat::q4r, 50},
                                           {KvFormat::q2c, 48},
                                           {KvFormat::q8_0, 32}}) {
        for (const int tokens : {1, 40}) {
            expect_pass_like_the_reference(
                {.k = format, .v = format, .kv_heads = 2, .head_dim = head_dim, .cells = 75, .sinks = 2, .window = 9},
                4, tokens, all);
        }
    }
}

TEST(CpuKv, GivesAQueryTheSameBitsInEveryCallAndWithAnyNumberOfThreads) {
    constexpr int kCells = 330;
    for (const KvFormatSpec& spec : kv_formats()) {
        const KvShape shape = {
            .k = spec.format, .v = spec.format, .kv_heads = 2, .cells = kCells, .sinks = 5, .window = 45};
        SCOPED_TRACE(describe(shape));
        const auto alone = backends(1);
        const auto pairs = backends(2);
        for (size_t i = 0; i < alone.size(); ++i) {
            KvMemory whole(shape);
            Sequence sequence(shape, 4);
            sequence.to_basis(*alone[i], whole);
            const Values want = sequence.pass(*alone[i], whole, 0, kCells);
            test::Random random(7);
            for (const int longest : {1, 7, 100}) {
                KvMemory parts(shape);
                Values got;
                for (int first = 0; first < kCells;) {
                    const int tokens = static_cast<int>(std::min<int64_t>(1 + random.below(longest), kCells - first));
                    const Values out = sequence.pass(*pairs[i], parts, first, tokens);
                    got.insert(got.end(), out.begin(), out.end());
                    first += tokens;
                }
                EXPECT_TRUE(test::same_bits(got, want, {{"token", kCells}, {"head", 4}, {"channel", shape.head_dim}}))
                    << pairs[i]->name() << ", calls of up to " << longest;
                EXPECT_TRUE(parts == whole) << pairs[i]->name() << ": other bytes";
            }
        }
    }
}

TEST(CpuKv, DoesNotSeeMaskedCells) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const KvFormat format : {KvFormat::f16, KvFormat::q4_0, KvFormat::q2c}) {
        const KvShape shape = {.k = format, .v = format, .kv_heads = 2, .cells = 600, .sinks = 4, .window = 30};
        KvMemory memory(shape);
        Sequence sequence(shape, 4);
        sequence.to_basis(*reference, memory);
        ASSERT_TRUE(reference->kv_store(sequence.rows(memory.view(), 0, 590)));
        reference->kv_overlay(sequence.rows(memory.view(), 0, 590));
        ASSERT_TRUE(reference->kv_store(sequence.rows(memory.view(), 590, 10)));
        for (const auto& [first, cells] : {std::pair{0, 1}, {3, 40}, {0, 300}, {200, 395}, {0, 595}, {0, 600}}) {
            KvView cache = memory.view();
            cache.masked_first = first;
            cache.masked_cells = cells;
            const Values want = sequence.attend(*reference, cache, 590, 10);
            for (const auto& backend : backends(2)) {
                EXPECT_TRUE(close(sequence.attend(*backend, cache, 590, 10), want, sequence))
                    << backend->name() << ", " << describe(shape) << ", masked " << cells << " from " << first;
            }
        }
    }
}

TEST(CpuKv, LoadsWhatTheReferenceLoads) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const KvFormatSpec& spec : kv_formats()) {
        const KvShape shape = {
            .k = spec.format, .v = spec.format, .kv_heads = 2, .cells = 100, .sinks = 3, .window = 20};
        KvMemory memory(shape);
        Sequence sequence(shape, 2);
        ASSERT_TRUE(reference->kv_store(sequence.rows(memory.view(), 0, 100)));
        reference->kv_overlay(sequence.rows(memory.view(), 0, 100));
        for (const auto& [first, tokens] : {std::pair{0, 100}, {1, 70}, {33, 5}, {96, 4}}) {
            const size_t floats = static_cast<size_t>(tokens * sequence.kv_floats());
            Values want_k(floats), want_v(floats);
            reference->kv_load({memory.view(), first, tokens, want_k.data(), want_v.data()}, 99);
            for (const auto& backend : backends(2)) {
                Values k(floats), v(floats);
                backend->kv_load({memory.view(), first, tokens, k.data(), nullptr}, 99);
                backend->kv_load({memory.view(), first, tokens, nullptr, v.data()}, 99);
                const std::vector<test::Dimension> dimensions = {
                    {"cell", tokens}, {"head", shape.kv_heads}, {"channel", shape.head_dim}};
                EXPECT_TRUE(test::same_bits(k, want_k, dimensions)) << backend->name() << ", K " << spec.name;
                EXPECT_TRUE(test::same_bits(v, want_v, dimensions)) << backend->name() << ", V " << spec.name;
            }
        }
    }
}

TEST(CpuKv, RotatesToTheSameBitsAsTheReference) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const int head_dim : {64, 128, 256, 512, 96, 32, 16, 8, 36, 20}) {
        const KvShape shape = {.kv_heads = 2, .head_dim = head_dim, .cells = 40, .v_scale = true};
        KvMemory memory(shape);
        KvView cache = memory.view();
        cache.k.rotate = cache.v.rotate = true;
        Sequence want(shape, 4);
        reference->kv_basis({cache, 0, 40, want.k.data(), want.v.data()}, want.q.data(), 4);
        for (const auto& backend : backends(2)) {
            Sequence got(shape, 4);
            backend->kv_basis({cache, 0, 40, got.k.data(), got.v.data()}, got.q.data(), 4);
            EXPECT_TRUE(test::same_bits(got.q, want.q, {{"row", 160}, {"channel", head_dim}})) << backend->name();
            EXPECT_TRUE(test::same_bits(got.k, want.k, {{"row", 80}, {"channel", head_dim}})) << backend->name();
            EXPECT_TRUE(test::same_bits(got.v, want.v, {{"row", 80}, {"channel", head_dim}})) << backend->name();
        }
    }
}

// Both encoders, by family, to the byte.
TEST(CpuKv, EncodesTheReferenceBytes) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    for (const KvFormatSpec& spec : kv_formats()) {
        for (const InputFamily family : test::all_input_families()) {
            for (const KvEncoder encoder : {KvEncoder::reference, KvEncoder::refined}) {
                const KvShape shape = {.k = spec.format, .v = spec.format, .kv_heads = 3, .head_dim = 96, .cells = 70};
                Values k = make_input(family, shape.cells * 3 * 96, 5);
                Values v = make_input(family, shape.cells * 3 * 96, 6);
                KvMemory want(shape);
                const auto store = [&](Backend& backend, KvMemory& memory) {
                    KvView cache = memory.view();
                    cache.encoder = encoder;
                    return backend.kv_store({cache, 0, static_cast<int>(shape.cells), k.data(), v.data()});
                };
                const bool stored = store(*reference, want);
                for (const auto& backend : backends(2)) {
                    KvMemory got(shape);
                    EXPECT_EQ(store(*backend, got), stored) << spec.name;
                    EXPECT_TRUE(!stored || got == want)
                        << backend->name() << ", " << spec.name << ", " << test::input_family_name(family);
                }
            }
        }
    }
}

}  // namespace
}  // namespace octavo
