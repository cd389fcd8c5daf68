// Every back end against the reference, by input family and shape: convolution and delta rule.
#include <algorithm>

#include "tests/support/backend_parity.h"

namespace octavo {
namespace {

using namespace test;

class MixerParity : public BackendParity {};
INSTANTIATE_TEST_SUITE_P(Backends, MixerParity, testing::ValuesIn(backends_under_test()), parity_name);

struct ConvShape {
    int tokens;
    int channels;
    int kernel;
};
constexpr ConvShape kConvShapes[] = {{1, 1, 4},   {2, 5, 4},    {3, 16, 4},  {17, 33, 4}, {63, 200, 4}, {64, 64, 4},
                                     {65, 17, 3}, {130, 96, 4}, {1, 100, 2}, {3, 40, 1},  {2, 24, 5}};

TEST_P(MixerParity, CausalConv) {
    for_each_family([&](InputFamily family) {
        for (const ConvShape& shape : kConvShapes) {
            SCOPED_TRACE(testing::Message() << "tokens " << shape.tokens << ", channels " << shape.channels
                                            << ", kernel " << shape.kernel);
            const int64_t history = int64_t{shape.kernel - 1} * shape.channels;
            const Values x = make_input(family, int64_t{shape.tokens} * shape.channels, 1);
            const Values weight = make_input(InputFamily::gaussian, int64_t{shape.channels} * shape.kernel, 2);
            const Values state = make_input(family, history, 3);
            const auto run = [&](Backend& backend, Values& y, Values& after) {
                backend.causal_conv({.tokens = shape.tokens,
                                     .channels = shape.channels,
                                     .kernel = shape.kernel,
                                     .x = x.data(),
                                     .weight = weight.data(),
                                     .state = after.data(),
                                     .y = y.data()});
            };
            Values got(x.size()), got_state = state, want(x.size()), want_state = state;
            run(*backend_, got, got_state);
            run(*reference_, want, want_state);

            Values line = state;  // all inputs over time
            line.insert(line.end(), x.begin(), x.end());
            Bounds bounds;
            for (size_t i = 0; i < x.size(); ++i) {
                const float* taps = &weight[i % shape.channels * shape.kernel];
                bounds.push_back(kBounds.causal_conv * dot_magnitude(&line[i], taps, shape.kernel, shape.channels) +
                                 kSmallest);
            }
            EXPECT_TRUE(within_bounds(got, want, bounds, {{"token", shape.tokens}, {"channel", shape.channels}}));
            EXPECT_TRUE(
                same_bits(got_state, want_state, {{"state: slot", shape.kernel - 1}, {"channel", shape.channels}}));
        }
    });
}

struct DeltaShape {
    int tokens;
    int key_heads;
    int value_heads;
    int key_dim;
    int value_dim;
};
constexpr DeltaShape kDeltaShapes[] = {{1, 2, 4, 32, 32},  {2, 1, 2, 128, 128}, {3, 2, 2, 16, 24},
                                       {17, 1, 3, 20, 12}, {63, 2, 4, 32, 32},  {64, 1, 2, 32, 16},
                                       {65, 1, 2, 64, 64}, {130, 2, 4, 32, 32}};

class DeltaCase {
  public:
    DeltaCase(const DeltaShape& shape, InputFamily family)
        : shape_(shape),
          row_(2 * shape.key_heads * shape.key_dim + shape.value_heads * shape.value_dim),
          qkv_(make_input(family, int64_t{shape.tokens} * row_, 1)),
          b_(make_input(InputFamily::gaussian, int64_t{shape.tokens} * shape.value_heads, 2)),
          a_(make_input(InputFamily::gaussian, int64_t{shape.tokens} * shape.value_heads, 3)),
          dt_bias_(make_input(InputFamily::gaussian, shape.value_heads, 4)),
          state_(make_input(family, int64_t{shape.value_heads} * shape.key_dim * shape.value_dim, 5)) {
        for (int head = 0; head < shape.value_heads; ++head) {
            key_heads_.push_back(head % shape.key_heads);
            a_scale_.push_back(-0.002f * std::pow(12.0f, static_cast<float>(head)));  // long to short memory
        }
    }

    struct Outcome {
        Values out;
        Values state;
    };

    Outcome run(Backend& backend, DeltaForm form) const {
        Outcome outcome{Values(int64_t{shape_.tokens} * shape_.value_heads * shape_.value_dim), state_};
        backend.gated_delta({.tokens = shape_.tokens,
                             .key_heads = shape_.key_heads,
                             .value_heads = shape_.value_heads,
                             .key_dim = shape_.key_dim,
                             .value_dim = shape_.value_dim,
                             .qkv = qkv_.data(),
                             .b = b_.data(),
                             .a = a_.data(),
                             .a_scale = a_scale_.data(),
                             .dt_bias = dt_bias_.data(),
                             .key_head_of_value_head = key_heads_.data(),
                             .state = outcome.state.data(),
                             .out = outcome.out.data(),
                             .form = form});
        return outcome;
    }

    void compare(const Outcome& got, const Outcome& want) const {
        const int64_t head_state = int64_t{shape_.key_dim} * shape_.value_dim;
        Bounds bounds;
        Bounds state_bounds;
        for (int head = 0; head < shape_.value_heads; ++head) {
            state_bounds.insert(state_bounds.end(), static_cast<size_t>(head_state), head_bound(head, want));
        }
        for (size_t i = 0; i < want.out.size(); ++i) {
            const int64_t head = static_cast<int64_t>(i) / shape_.value_dim % shape_.value_heads;
            bounds.push_back(state_bounds[static_cast<size_t>(head * head_state)]);
        }
        EXPECT_TRUE(
            within_bounds(got.out, want.out, bounds,
                          {{"token", shape_.tokens}, {"value head", shape_.value_heads}, {"value", shape_.value_dim}}));
        EXPECT_TRUE(within_bounds(
            got.state, want.state, state_bounds,
            {{"state: value head", shape_.value_heads}, {"key", shape_.key_dim}, {"value", shape_.value_dim}}));
    }

  private:
    double head_bound(int head, const Outcome& want) const {
        double largest = 0;
        const auto look_at = [&](const float* values, int64_t count) {
            for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(static_cast<double>(values[i])));
        };
        const int64_t head_state = int64_t{shape_.key_dim} * shape_.value_dim;
        look_at(&state_[head * head_state], head_state);
        look_at(&want.state[head * head_state], head_state);
        for (int64_t t = 0; t < shape_.tokens; ++t) {
            look_at(&qkv_[(t + 1) * row_ - (shape_.value_heads - head) * shape_.value_dim], shape_.value_dim);
            look_at(&want.out[(t * shape_.value_heads + head) * shape_.value_dim], shape_.value_dim);
        }
        return kBounds.gated_delta * largest + kSmallest;
    }

    DeltaShape shape_;
    int64_t row_;
    Values qkv_;
    Values b_;
    Values a_;
    Values dt_bias_;
    Values state_;
    Values a_scale_;
    std::vector<int32_t> key_heads_;
};

TEST_P(MixerParity, GatedDeltaInEveryForm) {
    for_each_family([&](InputFamily family) {
        for (const DeltaShape& shape : kDeltaShapes) {
            const DeltaCase test_case(shape, family);
            const DeltaCase::Outcome want = test_case.run(*reference_, DeltaForm::recurrent);
            for (const DeltaForm form : {DeltaForm::automatic, DeltaForm::recurrent, DeltaForm::chunked}) {
                SCOPED_TRACE(testing::Message()
                             << "tokens " << shape.tokens << ", heads " << shape.key_heads << "/" << shape.value_heads
                             << ", dims " << shape.key_dim << "/" << shape.value_dim
                             << (form == DeltaForm::chunked     ? ", chunked"
                                 : form == DeltaForm::recurrent ? ", recurrent"
                                                                : ", automatic"));
                test_case.compare(test_case.run(*backend_, form), want);
            }
        }
    });
}

}  // namespace
}  // namespace octavo
