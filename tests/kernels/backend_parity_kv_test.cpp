// Every back end against the reference on the cache: the steps of a pass (basis, store, attention, overlay), for every
// format, by input family and shape.
#include <algorithm>
#include <limits>

#include "tests/support/backend_parity.h"

namespace octavo {
namespace {

using namespace test;

class KvParity : public BackendParity {};
INSTANTIATE_TEST_SUITE_P(Backends, KvParity, testing::ValuesIn(backends_under_test()), parity_name);

struct KvCase {
    KvFormat k;
    KvFormat v;
    int tokens;
    int first_cell;
    int heads;
    int kv_heads;
    int head_dim;
    int sinks = 0;
    int window = 0;
    int window_from = 0;
    bool v_scale = false;
};

// Every format on both sides, around the edge of a group of 32 cells and with FP16 copies; then the shapes that matter
// to kernels of unscaled formats.
std::vector<KvCase> kv_cases() {
    std::vector<KvCase> cases;
    for (const KvFormatSpec& spec : kv_formats()) {
        const KvFormat format = spec.format;
        cases.push_back({format, format, 1, 64, 4, 2, 64});
        cases.push_back({format, format, 3, 62, 4, 1, 32, 4, 16, 50});
        cases.push_back({format, KvFormat::f16, 65, 30, 2, 2, 64, 2, 40});
        cases.push_back({KvFormat::f16, format, 17, 0, 2, 1, 128, 20, 8, 0, true});
    }
    constexpr KvFormat f16 = KvFormat::f16;
    cases.push_back({f16, f16, 1, 0, 4, 2, 64});
    cases.push_back({f16, f16, 1, 200, 8, 1, 256});
    cases.push_back({KvFormat::f32, KvFormat::f32, 2, 5, 2, 2, 20});
    cases.push_back({KvFormat::bf16, f16, 63, 1, 4, 2, 32});
    cases.push_back({KvFormat::f32, f16, 64, 0, 2, 1, 48});
    cases.push_back({KvFormat::q8_0, KvFormat::q4_0, 130, 3, 3, 1, 64, 4, 32});
    return cases;
}

std::string describe(const KvCase& c) {
    return "k " + std::string(kv_format_spec(c.k).name) + ", v " + std::string(kv_format_spec(c.v).name) + ", tokens " +
           std::to_string(c.tokens) + ", first cell " + std::to_string(c.first_cell) + ", heads " +
           std::to_string(c.heads) + "/" + std::to_string(c.kv_heads) + ", head_dim " + std::to_string(c.head_dim) +
           ", sinks " + std::to_string(c.sinks) + ", window " + std::to_string(c.window) + " from " +
           std::to_string(c.window_from) + (c.v_scale ? ", v scaled" : "");
}

// All bytes of one layer's cache, for `cells` cells and a group more that nothing may touch. A value: copies share
// nothing.
class KvMemory {
  public:
    explicit KvMemory(const KvCase& c)
        : case_(c), k_(c, c.k), v_(c, c.v), v_scale_(make_input(InputFamily::gaussian, c.kv_heads * c.head_dim, 77)) {
        for (float& scale : v_scale_) scale = 0.5f + std::fabs(scale);
    }

    KvView view() {
        KvView cache;
        cache.kv_heads = case_.kv_heads;
        cache.head_dim = case_.head_dim;
        cache.k = k_.view();
        cache.v = v_.view();
        cache.overlay = {.sinks = case_.sinks,
                         .window = case_.window,
                         .window_from = case_.window_from,
                         .sink_k = k_.sinks.data(),
                         .sink_v = v_.sinks.data(),
                         .ring_k = k_.ring.data(),
                         .ring_v = v_.ring.data()};
        if (case_.v_scale) cache.v_scale = v_scale_.data();
        return cache;
    }

    double largest_v_scale() const { return case_.v_scale ? *std::max_element(v_scale_.begin(), v_scale_.end()) : 1.0; }

    // Names what differs first; empty when all bytes are the same.
    std::string difference(const KvMemory& other) const {
        const std::string in_k = k_.difference(other.k_);
        if (!in_k.empty()) return "K " + in_k;
        const std::string in_v = v_.difference(other.v_);
        return in_v.empty() ? "" : "V " + in_v;
    }

  private:
    struct Side {
        KvFormat format;
        bool rotate;
        std::vector<std::byte> payload;
        std::vector<f16_bits> scales, open, sinks, ring;

        Side(const KvCase& c, KvFormat side_format) : format(side_format), rotate(kv_format_spec(format).rotates) {
            const int64_t cells = (c.first_cell + c.tokens + 2 * kKvGroupCells - 1) / kKvGroupCells * kKvGroupCells;
            const int64_t row = int64_t{c.kv_heads} * c.head_dim;
            payload.assign(cells * c.kv_heads * kv_payload_bytes_per_row(format, c.head_dim), std::byte{0x5a});
            scales.assign(cells * c.kv_heads * kv_scale_bytes_per_row(format, c.head_dim) / 2, 0x5a5a);
            if (kv_format_spec(format).per_channel()) open.assign(kKvGroupCells * row, 0x5a5a);
            sinks.assign(c.sinks * row, 0x5a5a);
            ring.assign(c.window * row, 0x5a5a);
        }

        KvSide view() {
            KvSide side;
            side.format = format;
            side.rotate = rotate;
            side.payload = payload.data();
            side.scales = scales.empty() ? nullptr : reinterpret_cast<std::byte*>(scales.data());
            side.open = open.empty() ? nullptr : open.data();
            return side;
        }

        std::string difference(const Side& other) const {
            const auto first = [](const char* what, const auto& a, const auto& b) -> std::string {
                const auto found = std::mismatch(a.begin(), a.end(), b.begin());
                if (found.first == a.end()) return "";
                return std::string(what) + " differ at element " + std::to_string(found.first - a.begin()) + " of " +
                       std::to_string(a.size()) + ": " + std::to_string(static_cast<int>(*found.first)) + ", want " +
                       std::to_string(static_cast<int>(*found.second));
            };
            for (const std::string& text :
                 {first("payload bytes", payload, other.payload), first("scales", scales, other.scales),
                  first("open cells", open, other.open), first("sinks", sinks, other.sinks),
                  first("ring cells", ring, other.ring)}) {
                if (!text.empty()) return text;
            }
            return "";
        }
    };

    KvCase case_;
    Side k_;
    Side v_;
    Values v_scale_;
};

// Inputs of cells [first, first + tokens), and what a pass makes of them.
struct Pass {
    int first_cell;
    int tokens;
    Values q;       // [T][heads][head_dim]
    Values q_gate;  // [T][heads][2 * head_dim]
    Values k;       // [T][kv_heads][head_dim]
    Values v;

    Pass(const KvCase& c, InputFamily family, int first, int count, uint64_t seed)
        : first_cell(first),
          tokens(count),
          q(make_input(family, int64_t{count} * c.heads * c.head_dim, seed)),
          q_gate(make_input(InputFamily::gaussian, int64_t{count} * c.heads * 2 * c.head_dim, seed + 1)),
          k(make_input(family, int64_t{count} * c.kv_heads * c.head_dim, seed + 2)),
          v(make_input(family, int64_t{count} * c.kv_heads * c.head_dim, seed + 3)) {}

    KvRows rows(KvMemory& memory) {
        return {.cache = memory.view(), .first_cell = first_cell, .tokens = tokens, .k = k.data(), .v = v.data()};
    }
    void to_basis(Backend& backend, KvMemory& memory, int heads) { backend.kv_basis(rows(memory), q.data(), heads); }
    Values attend(Backend& backend, KvMemory& memory, int heads) {
        Values out(q.size());
        backend.attention({.cache = memory.view(),
                           .first_cell = first_cell,
                           .tokens = tokens,
                           .heads = heads,
                           .q = q.data(),
                           .q_gate = q_gate.data(),
                           .k_new = k.data(),
                           .v_new = v.data(),
                           .out = out.data()});
        return out;
    }
};

double largest(const Values& values) {
    double result = 0;
    for (const float value : values) result = std::max(result, std::fabs(static_cast<double>(value)));
    return result;
}

// Rotation mixes a row: each value by the sum of the row's magnitudes over sqrt(head_dim).
Bounds basis_bounds(const Values& rows, int head_dim, double scale) {
    Bounds bounds;
    for (size_t row = 0; row < rows.size(); row += head_dim) {
        double sum = 0;
        for (int i = 0; i < head_dim; ++i) sum += std::fabs(rows[row + i]);
        const double bound = kBounds.kv_basis * scale * std::max(sum, 1e-37) / std::sqrt(head_dim * 1.0) + kSmallest;
        bounds.insert(bounds.end(), static_cast<size_t>(head_dim), bound);
    }
    return bounds;
}

// An error in a score becomes a share of its weight, and no error moves the mean further than twice the largest |v|.
// Rotating back spreads a row's errors over the row. `past`: the pass before, whose cells are attended too.
Bounds attention_bounds(const KvCase& c, const Pass& pass, const Pass& past, const KvMemory& memory) {
    const double largest_k = std::max(largest(pass.k), largest(past.k));
    double largest_v = std::max(largest(pass.v), largest(past.v)) * memory.largest_v_scale();
    if (kv_format_spec(c.v).rotates) largest_v *= std::sqrt(static_cast<double>(c.head_dim));
    Bounds bounds;
    for (size_t row = 0; row < pass.q.size(); row += c.head_dim) {
        double scores = 0;  // at least the sum of |q k|
        for (int i = 0; i < c.head_dim; ++i) scores += std::fabs(pass.q[row + i]) * largest_k;
        const double share = std::min(2.0, kBounds.attention * (1 + scores / std::sqrt(c.head_dim * 1.0)));
        for (int i = 0; i < c.head_dim; ++i) {
            bounds.push_back(share * largest_v * sigmoid(pass.q_gate[2 * row + c.head_dim + i]) + kSmallest);
        }
    }
    return bounds;
}

TEST_P(KvParity, EveryStepOfAPass) {
    for_each_family([&](InputFamily family) {
        for (const KvCase& c : kv_cases()) {
            SCOPED_TRACE(describe(c));
            const auto shape = [&](const char* token, int heads) -> std::vector<Dimension> {
                return {{token, c.tokens}, {"head", heads}, {"value", c.head_dim}};
            };
            KvMemory want(c);
            Pass past(c, family, 0, c.first_cell, 1);  // by the reference; the new cells come on top
            past.to_basis(*reference_, want, c.heads);
            ASSERT_TRUE(reference_->kv_store(past.rows(want)));
            reference_->kv_overlay(past.rows(want));
            KvMemory got = want;

            Pass pass(c, family, c.first_cell, c.tokens, 11);
            Pass got_pass = pass;
            got_pass.to_basis(*backend_, got, c.heads);
            const Bounds q_bounds = basis_bounds(pass.q, c.head_dim, 1);
            const Bounds k_bounds = basis_bounds(pass.k, c.head_dim, 1);
            const Bounds v_bounds = basis_bounds(pass.v, c.head_dim, 2);  // v_scale is at least 1/2
            pass.to_basis(*reference_, want, c.heads);
            EXPECT_TRUE(within_bounds(got_pass.q, pass.q, q_bounds, shape("basis of q: token", c.heads)));
            EXPECT_TRUE(within_bounds(got_pass.k, pass.k, k_bounds, shape("basis of k: token", c.kv_heads)));
            EXPECT_TRUE(within_bounds(got_pass.v, pass.v, v_bounds, shape("basis of v: token", c.kv_heads)));

            // From here on both take the reference's rows: the bytes they write must be the same.
            const bool stored = reference_->kv_store(pass.rows(want));
            EXPECT_EQ(backend_->kv_store(pass.rows(got)), stored);
            if (!stored) continue;
            EXPECT_EQ(got.difference(want), "") << "after kv_store";

            got = want;
            EXPECT_TRUE(within_bounds(pass.attend(*backend_, got, c.heads), pass.attend(*reference_, want, c.heads),
                                      attention_bounds(c, pass, past, want), shape("attention: token", c.heads)));
            backend_->kv_overlay(pass.rows(got));
            reference_->kv_overlay(pass.rows(want));
            EXPECT_EQ(got.difference(want), "") << "after kv_overlay";
        }
    });
}

// What cannot be encoded is refused by every back end alike.
TEST_P(KvParity, RefusesWhatIsNotFinite) {
    for (const KvFormatSpec& spec : kv_formats()) {
        const KvCase c{spec.format, spec.format, 32, 0, 2, 1, 64};
        for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            KvMemory memory(c);
            Pass pass(c, InputFamily::gaussian, 0, c.tokens, 1);
            EXPECT_TRUE(backend_->kv_store(pass.rows(memory))) << spec.name;
            pass.v[700] = bad;
            EXPECT_FALSE(backend_->kv_store(pass.rows(memory))) << spec.name << ", " << bad;
        }
    }
}

}  // namespace
}  // namespace octavo
