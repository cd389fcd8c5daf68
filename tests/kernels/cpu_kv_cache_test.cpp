// A cache of every pair of KV formats, with overlay, open groups, rotation and equalisation, driven pass by pass: the
// fast CPU back end writes the reference's bytes, attends as the reference does, and gives a query the same bits
// however the tokens are split into passes.
#include <gtest/gtest.h>

#include <cmath>
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

constexpr int kHeads = 4;
constexpr int kKvHeads = 2;

struct Settings {
    KvFormat k = KvFormat::f16;
    KvFormat v = KvFormat::f16;
    int head_dim = 64;
    int64_t sinks = 0;
    int64_t window = 0;
    int64_t window_from = 0;
    bool rotate = false;
    bool v_scale = false;

    std::string text() const {
        return std::string(kv_format_spec(k).name) + "/" + std::string(kv_format_spec(v).name) + ", head_dim " +
               std::to_string(head_dim) + ", window " + std::to_string(window) + ", sinks " + std::to_string(sinks) +
               (rotate ? ", rotated" : "") + (v_scale ? ", equalised" : "");
    }
};

// One layer's cache and the rows of a whole conversation.
class Layer {
  public:
    Layer(const Settings& settings, int tokens) : tokens_(tokens) {
        const int dim = settings.head_dim;
        const int64_t cells = (tokens + kKvGroupCells - 1) / kKvGroupCells * kKvGroupCells;
        view_.kv_heads = kKvHeads;
        view_.head_dim = dim;
        view_.overlay.sinks = settings.sinks;
        view_.overlay.window = settings.window;
        view_.overlay.window_from = settings.window_from;
        const size_t row = static_cast<size_t>(kKvHeads) * static_cast<size_t>(dim);
        const auto make_side = [&](KvSide& side, KvFormat format, Bytes& bytes, f16_bits*& sinks, f16_bits*& ring) {
            side.format = format;
            side.rotate = settings.rotate;
            bytes.payload.resize(static_cast<size_t>(cells * kKvHeads * kv_payload_bytes_per_row(format, dim)));
            const int64_t scale_bytes = kv_format_spec(format).per_channel()
                                            ? cells / kKvGroupCells * kKvHeads * dim * 2
                                            : cells * kKvHeads * kv_scale_bytes_per_row(format, dim);
            bytes.scales.resize(static_cast<size_t>(scale_bytes) / 2);
            bytes.open.resize(kKvGroupCells * row);
            bytes.sinks.resize(static_cast<size_t>(settings.sinks) * row);
            bytes.ring.resize(static_cast<size_t>(settings.window) * row);
            side.payload = bytes.payload.data();
            side.scales = scale_bytes == 0 ? nullptr : reinterpret_cast<std::byte*>(bytes.scales.data());
            side.open = kv_format_spec(format).per_channel() ? bytes.open.data() : nullptr;
            sinks = bytes.sinks.data();
            ring = bytes.ring.data();
        };
        make_side(view_.k, settings.k, k_bytes_, view_.overlay.sink_k, view_.overlay.ring_k);
        make_side(view_.v, settings.v, v_bytes_, view_.overlay.sink_v, view_.overlay.ring_v);
        v_scale_ = make_input(InputFamily::gaussian, static_cast<int64_t>(row), 9);
        for (float& scale : v_scale_) scale = 0.5f + std::fabs(scale);
        if (settings.v_scale) view_.v_scale = v_scale_.data();
        k_ = make_input(InputFamily::gaussian, tokens * static_cast<int64_t>(row), 1);
        v_ = make_input(InputFamily::gaussian, tokens * static_cast<int64_t>(row), 2);
        q_ = make_input(InputFamily::gaussian, int64_t{tokens} * kHeads * dim, 3);
        gate_ = make_input(InputFamily::gaussian, int64_t{tokens} * kHeads * dim * 2, 4);
    }

    // One pass over `count` tokens: [count][heads][head_dim]. `writer` fills the cache, `reader` attends.
    std::vector<float> pass(Backend& writer, Backend& reader, int first, int count) {
        const int dim = view_.head_dim;
        const auto slice = [&](const std::vector<float>& x, int64_t floats) {
            return std::vector<float>(x.begin() + first * floats, x.begin() + (first + count) * floats);
        };
        std::vector<float> k = slice(k_, kKvHeads * dim);
        std::vector<float> v = slice(v_, kKvHeads * dim);
        std::vector<float> q = slice(q_, kHeads * dim);
        std::vector<float> out(q.size());
        const KvRows rows = {.cache = view_, .first_cell = first, .tokens = count, .k = k.data(), .v = v.data()};
        writer.kv_basis(rows, q.data(), kHeads);
        EXPECT_TRUE(writer.kv_store(rows));
        reader.attention({.cache = view_,
                          .first_cell = first,
                          .tokens = count,
                          .heads = kHeads,
                          .q = q.data(),
                          .q_gate = gate_.data() + int64_t{first} * kHeads * dim * 2,
                          .k_new = k.data(),
                          .v_new = v.data(),
                          .out = out.data()});
        writer.kv_overlay(rows);
        return out;
    }

    // All tokens in passes of random lengths, some of them one token.
    std::vector<float> run(Backend& writer, Backend& reader, uint64_t seed) {
        test::Random random(seed);
        std::vector<float> all;
        for (int first = 0; first < tokens_;) {
            const int64_t longest = random.below(2) == 0 ? 3 : 80;
            const int count = static_cast<int>(std::min<int64_t>(1 + random.below(longest), tokens_ - first));
            const std::vector<float> out = pass(writer, reader, first, count);
            all.insert(all.end(), out.begin(), out.end());
            first += count;
        }
        return all;
    }

    bool same_bytes(const Layer& other) const { return k_bytes_ == other.k_bytes_ && v_bytes_ == other.v_bytes_; }
    std::vector<test::Dimension> dimensions() const {
        return {{"token", tokens_}, {"head", kHeads}, {"channel", view_.head_dim}};
    }

  private:
    struct Bytes {
        std::vector<std::byte> payload;
        std::vector<f16_bits> scales, open, sinks, ring;
        bool operator==(const Bytes&) const = default;
    };

    int tokens_;
    KvView view_;
    Bytes k_bytes_, v_bytes_;
    std::vector<float> v_scale_, k_, v_, q_, gate_;
};

std::vector<CpuIsa> isas() {
    std::vector<CpuIsa> all;
    for (const CpuIsa isa : {CpuIsa::generic, CpuIsa::avx2, CpuIsa::avx512}) {
        if (isa <= detect_cpu_isa()) all.push_back(isa);
    }
    return all;
}

// The reference fills the cache and attends; then the fast back end does both, split otherwise.
void expect_agreement(const Settings& settings, int tokens) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    Layer wanted(settings, tokens);
    const std::vector<float> want = wanted.run(*reference, *reference, 5);
    double largest = 0;
    for (const float value : want) largest = std::max(largest, std::fabs(static_cast<double>(value)));
    for (const CpuIsa isa : isas()) {
        const std::unique_ptr<Backend> backend = make_cpu_backend(2, isa);
        Layer layer(settings, tokens);
        const std::vector<float> got = layer.run(*backend, *backend, 5);
        EXPECT_TRUE(test::within(got, want, 2e-5 * largest, layer.dimensions()))
            << backend->name() << ", " << settings.text();
        EXPECT_TRUE(layer.same_bytes(wanted)) << backend->name() << ", " << settings.text();

        const std::unique_ptr<Backend> alone = make_cpu_backend(1, isa);
        Layer split(settings, tokens);
        EXPECT_TRUE(test::same_bits(split.run(*alone, *alone, 6), got, layer.dimensions()))
            << backend->name() << ", " << settings.text();
        EXPECT_TRUE(split.same_bytes(wanted)) << backend->name() << ", " << settings.text();
    }
}

TEST(CpuKvCacheFull, EveryPairOfFormats) {
    for (const KvFormatSpec& k : kv_formats()) {
        for (const KvFormatSpec& v : kv_formats()) {
            Settings settings;
            settings.k = k.format;
            settings.v = v.format;
            settings.sinks = 5;
            settings.window = 19;
            expect_agreement(settings, 100);
        }
    }
}

TEST(CpuKvCache, EveryFormat) {
    for (const KvFormatSpec& format : kv_formats()) {
        Settings settings;
        settings.k = settings.v = format.format;
        settings.sinks = 5;
        settings.window = 19;
        settings.rotate = format.rotates;
        settings.v_scale = true;
        expect_agreement(settings, 80);
    }
}

TEST(CpuKvCacheFull, EveryFormatInEveryBasisAndHeadDim) {
    for (const KvFormatSpec& format : kv_formats()) {
        for (const int head_dim : {64, 96, 128, 256}) {
            for (const int options : {0, 1, 2, 3}) {
                Settings settings;
                settings.k = settings.v = format.format;
                settings.head_dim = head_dim;
                settings.rotate = (options & 1) != 0;
                settings.v_scale = (options & 2) != 0;
                expect_agreement(settings, 70);
            }
        }
    }
}

// Pieces end at 256 cells: window, sinks and bulk on both sides of that.
TEST(CpuKvCache, ZonesThatCrossPieces) {
    Settings settings;
    settings.k = KvFormat::q2c;
    settings.v = KvFormat::q4_0;
    settings.sinks = 40;
    settings.window = 70;
    settings.window_from = 200;
    expect_agreement(settings, 300);
}

TEST(CpuKvCache, RowFormatsOfAnyHeadDim) {
    for (const KvFormat format : {KvFormat::f16, KvFormat::q8r, KvFormat::q6r, KvFormat::q4r}) {
        for (const int head_dim : {4, 20, 36}) {
            Settings settings;
            settings.k = settings.v = format;
            settings.head_dim = head_dim;
            settings.window = 7;
            settings.rotate = true;
            expect_agreement(settings, 50);
        }
    }
}

TEST(CpuKvCacheFull, WindowsAndSinks) {
    for (const KvFormat format : {KvFormat::q4_0, KvFormat::q2c}) {
        for (const int64_t window : {0, 1, 32, 33, 150}) {
            for (const int64_t sinks : {0, 1, 32, 40, 130}) {
                Settings settings;
                settings.k = format;
                settings.v = KvFormat::q8_0;
                settings.sinks = sinks;
                settings.window = window;
                settings.window_from = window == 33 ? 60 : 0;
                expect_agreement(settings, 140);
            }
        }
    }
}

}  // namespace
}  // namespace octavo
