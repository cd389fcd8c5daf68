// The CUDA back end as it runs by default, with 16-bit factors on the tensor cores, against the reference: products,
// experts, and attention of every pair of KV formats. Its float32 kernels are among the back ends of the parity suites.
#include "kernels/cuda/cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/host_arrays.h"
#include "tests/support/backend_parity.h"
#include "tests/support/compare.h"
#include "tests/support/inputs.h"
#include "tests/support/kv_memory.h"

namespace octavo::test {
namespace {

// Of the sum of magnitudes: two factors rounded to FP16; products of few tokens keep 16 bits of the inputs or more.
constexpr double kFactor = 1e-3;
constexpr double kFewTokensFactor = 2e-5;
// Weights of few bits meet a few tokens' inputs rounded to 16 bits, by the largest of 32: 1 / 256 of what 8 bits
// change.
constexpr double kInt16Rounding = 1.0 / 256;

class CudaTest : public testing::Test {
  protected:
    void SetUp() override {
        Result<std::unique_ptr<Backend>> backend = make_cuda_backend({});
        if (!backend) GTEST_SKIP() << backend.error().message;
        cuda_ = on_host_arrays(std::move(*backend));
    }

    std::unique_ptr<Backend> cuda_;
    const std::unique_ptr<Backend> reference_ = make_reference_backend();
};

Values poisoned(size_t count) { return Values(count, std::numeric_limits<float>::quiet_NaN()); }

double largest(const Values& values) {
    double result = 0;
    for (const float value : values) result = std::max(result, std::fabs(double{value}));
    return result;
}

// Of root mean squares.
double relative_error(const Values& got, const Values& want) {
    double error = 0, size = 0;
    for (size_t i = 0; i < want.size(); ++i) {
        error += std::pow(double{got[i]} - want[i], 2);
        size += std::pow(double{want[i]}, 2);
    }
    return std::sqrt(error / size);
}

TEST_F(CudaTest, Products) {
    for (const WeightTypeSpec& spec : weight_types()) {
        for (const int tokens : {1, 2, 3, 4, 5, 64, 70, 150}) {
            for (const int64_t cols : {32, 160, 320, 512, 2048, 4352}) {
                if (cols > 4000 && tokens > 5) continue;
                if (cols > 2000 && tokens > 5 && tokens != 70) continue;
                if (cols % spec.block_values != 0) continue;
                SCOPED_TRACE(testing::Message() << spec.name << ", tokens " << tokens << ", cols " << cols);
                const int64_t rows = std::max<int64_t>(tokens < 100 ? 67 : 200, cols / 8 + 3);  // fewer are float32
                const TestMatrix w(spec.type, rows, cols, InputFamily::gaussian, 1);
                const Values x = make_input(InputFamily::outliers, tokens * cols, 2);
                Values got = poisoned(static_cast<size_t>(tokens * rows));
                Values want = got;
                const MatmulTarget target{w.view(), got.data(), rows, false};
                cuda_->matmul(x.data(), tokens, {&target, 1});
                const MatmulTarget exact{w.view(), want.data(), rows, false};
                reference_->matmul(x.data(), tokens, {&exact, 1});
                std::vector<double> bounds;
                const Values decoded = w.decoded();
                for (int64_t t = 0; t < tokens; ++t) {
                    for (int64_t r = 0; r < rows; ++r) {
                        double sum = 0;
                        for (int64_t i = 0; i < cols; ++i) {
                            sum += std::fabs(double{decoded[static_cast<size_t>(r * cols + i)]} *
                                             x[static_cast<size_t>(t * cols + i)]);
                        }
                        bounds.push_back((tokens <= 4 ? kFewTokensFactor : kFactor) * sum);
                        if (tokens <= 4 && spec.block_values > 1) {
                            bounds.back() += kInt16Rounding * rounding_bound(&decoded[static_cast<size_t>(r * cols)],
                                                                             &x[static_cast<size_t>(t * cols)], cols);
                        }
                    }
                }
                EXPECT_TRUE(within_bounds(got, want, bounds, {{"token", tokens}, {"row", rows}}));
            }
        }
    }
}

// Matrices of every type in one call, of more rows than warps run at once, every other one added to what is there:
// whole and not whole numbers, results side by side.
TEST_F(CudaTest, ProductsOfManyMatrices) {
    constexpr int64_t kMatrixRows = 2501, kCols = 256;
    for (const int tokens : {1, 3}) {
        std::vector<TestMatrix> matrices;
        for (const WeightTypeSpec& spec : weight_types()) {
            matrices.emplace_back(spec.type, kMatrixRows, kCols, InputFamily::gaussian, matrices.size(), 0.5f);
        }
        const int64_t width = std::ssize(matrices) * kMatrixRows;
        const Values x = make_input(InputFamily::gaussian, tokens * kCols, 70);
        const Values before = make_input(InputFamily::gaussian, tokens * width, 71);
        const auto run = [&](Backend& backend) {
            Values y = before;
            std::vector<MatmulTarget> targets;
            for (size_t i = 0; i < matrices.size(); ++i) {
                targets.push_back({matrices[i].view(), &y[i * kMatrixRows], width, i % 2 == 1});
            }
            backend.matmul(x.data(), tokens, targets);
            return y;
        };
        const Values want = run(*reference_);
        const Values got = run(*cuda_);
        for (size_t i = 0; i < matrices.size(); ++i) {
            SCOPED_TRACE(testing::Message() << weight_type_spec(matrices[i].view().type).name << ", " << tokens);
            for (int t = 0; t < tokens; ++t) {
                const auto first = static_cast<std::ptrdiff_t>(t * width + static_cast<int64_t>(i) * kMatrixRows);
                const auto rows_of = [&](const Values& y) {
                    return Values(y.begin() + first, y.begin() + first + kMatrixRows);
                };
                const Values wanted = rows_of(want);
                EXPECT_TRUE(within(rows_of(got), wanted, 5e-5 * largest(wanted), {{"row", kMatrixRows}}));
            }
        }
        EXPECT_TRUE(same_bits(run(*cuda_), got, {{"token", tokens}, {"column of y", width}}));
    }
}

// What is no number stays that, and neighbours of what is huge or tiny stay numbers.
TEST_F(CudaTest, ProductsKeepWhatIsNoNumber) {
    constexpr int64_t kCols = 512;
    for (const WeightType type : {WeightType::q8_0, WeightType::q4_k, WeightType::q6_k}) {
        const TestMatrix w(type, 3, kCols, InputFamily::gaussian, 1);
        for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            Values x = make_input(InputFamily::gaussian, 2 * kCols, 2);
            x[kCols + 77] = odd;  // of the second token
            Values y = poisoned(2 * 3);
            const MatmulTarget target{w.view(), y.data(), 3, false};
            cuda_->matmul(x.data(), 2, {&target, 1});
            ASSERT_TRUE(cuda_->finish());
            for (int row = 0; row < 3; ++row) {
                EXPECT_TRUE(std::isfinite(y[static_cast<size_t>(row)])) << weight_type_spec(type).name;
                EXPECT_FALSE(std::isfinite(y[static_cast<size_t>(3 + row)])) << weight_type_spec(type).name;
            }
        }
        for (const InputFamily family : {InputFamily::zero, InputFamily::denormal}) {
            const Values x = make_input(family, kCols, 2);
            Values y = poisoned(3);
            const MatmulTarget target{w.view(), y.data(), 3, false};
            cuda_->matmul(x.data(), 1, {&target, 1});
            for (const float value : y) EXPECT_LT(std::fabs(value), 1e-25f) << weight_type_spec(type).name;
        }
    }
}

// Every number that FP8 and NVFP4 can hold, alone in its row, so that no sum rounds it.
TEST_F(CudaTest, EveryCodeOfSmallFloats) {
    for (const WeightType type : {WeightType::f8_e4m3, WeightType::nvfp4_apart, WeightType::f8_e4m3_blocks}) {
        const WeightTypeSpec& spec = weight_type_spec(type);
        const int codes = type == WeightType::nvfp4_apart ? 16 : 256;
        const int scales = type == WeightType::nvfp4_apart ? 256 : 1;
        for (const int cols : {7, 128, 256}) {  // without and with wide reads
            if (cols % spec.block_values != 0) continue;
            Matrix w{type, nullptr, codes * scales, cols, 0.5f};
            std::vector<std::byte> data(static_cast<size_t>(w.bytes()));
            std::vector<std::byte> block_scales(static_cast<size_t>(w.scale_bytes()));
            for (int64_t row = 0; row < w.rows; ++row) {
                const int64_t column = row % cols;
                const auto code = static_cast<unsigned>(row % codes);
                std::byte* const at = data.data() + row * w.row_bytes();
                if (type == WeightType::nvfp4_apart) {
                    at[column / 2] = static_cast<std::byte>(code << (column % 2 * 4));
                    block_scales[static_cast<size_t>(row * w.scale_row_bytes() + column / 16)] =
                        static_cast<std::byte>(row / codes);
                } else {
                    at[column] = static_cast<std::byte>(code);
                }
            }
            if (type == WeightType::f8_e4m3_blocks) {
                const std::vector<float> values(block_scales.size() / sizeof(float), 0.75f);
                std::memcpy(block_scales.data(), values.data(), block_scales.size());
            }
            w.data = data.data();
            w.block_scales = block_scales.data();
            for (const int tokens : {1, 3, 40}) {
                SCOPED_TRACE(testing::Message() << spec.name << ", cols " << cols << ", tokens " << tokens);
                const Values x(static_cast<size_t>(tokens * cols), 1.0f);
                Values got = poisoned(static_cast<size_t>(tokens * w.rows));
                Values want = got;
                const MatmulTarget target{w, got.data(), w.rows, false};
                cuda_->matmul(x.data(), tokens, {&target, 1});
                const MatmulTarget exact{w, want.data(), w.rows, false};
                reference_->matmul(x.data(), tokens, {&exact, 1});
                for (size_t i = 0; i < want.size(); ++i) {
                    if (std::isnan(want[i]) && std::isnan(got[i])) continue;
                    ASSERT_EQ(got[i], want[i])
                        << "token " << i / static_cast<size_t>(w.rows) << ", row " << i % static_cast<size_t>(w.rows);
                }
            }
        }
    }
}

// One layer with 256-wide heads: a past of `before` cells, then a pass of `tokens`.
struct Shape {
    int before;
    int tokens;
    int heads;
    int64_t sinks;
    int64_t window;
    int64_t window_from;
};

class AttentionCase {
  public:
    static constexpr int kDim = 256, kKvHeads = 2;

    AttentionCase(const Shape& shape, KvFormat k, KvFormat v, uint64_t seed) : shape_(shape) {
        const int64_t cells = shape.before + shape.tokens;
        memory_shape_ = {k, v, kKvHeads, kDim, cells, shape.sinks, shape.window, shape.window_from, true};
        k_ = make_input(InputFamily::gaussian, cells * kKvHeads * kDim, seed);
        v_ = make_input(InputFamily::outliers, cells * kKvHeads * kDim, seed + 1);
        q_ = make_input(InputFamily::gaussian, int64_t{shape.tokens} * shape.heads * kDim, seed + 2);
        gate_ = make_input(InputFamily::gaussian, int64_t{shape.tokens} * shape.heads * 2 * kDim, seed + 3);
    }

    // The cache before the pass's own attention, and its rows and queries in the cache's basis.
    void fill(Backend& backend, KvMemory& memory) {
        const KvView view = memory.view();
        if (shape_.before > 0) {
            const KvRows past{view, 0, shape_.before, k_.data(), v_.data()};
            backend.kv_basis(past, nullptr, 0);
            EXPECT_TRUE(backend.kv_store(past));
            backend.kv_overlay(past);
        }
        backend.kv_basis(rows(view), q_.data(), shape_.heads);
        EXPECT_TRUE(backend.kv_store(rows(view)));
    }

    Values attend(Backend& backend, KvMemory& memory) {
        Values out = poisoned(q_.size());
        KvRows fresh = rows(memory.view());
        fresh.cache.masked_first = masked_first_;
        fresh.cache.masked_cells = masked_cells_;
        backend.attention({.cache = fresh.cache,
                           .first_cell = shape_.before,
                           .tokens = shape_.tokens,
                           .heads = shape_.heads,
                           .q = q_.data(),
                           .q_gate = gate_.data(),
                           .k_new = fresh.k,
                           .v_new = fresh.v,
                           .out = out.data()});
        EXPECT_TRUE(backend.finish());
        return out;
    }

    void mask(int64_t first, int64_t cells) { masked_first_ = first, masked_cells_ = cells; }

    const KvShape& memory_shape() const { return memory_shape_; }

  private:
    KvRows rows(const KvView& view) {
        const size_t offset = static_cast<size_t>(shape_.before) * kKvHeads * kDim;
        return {view, shape_.before, shape_.tokens, k_.data() + offset, v_.data() + offset};
    }

    Shape shape_;
    int64_t masked_first_ = 0, masked_cells_ = 0;
    KvShape memory_shape_;
    Values k_, v_, q_, gate_;
};

void expect_near_reference(AttentionCase test_case, Backend& reference, Backend& cuda) {
    KvMemory memory(test_case.memory_shape());
    test_case.fill(reference, memory);
    const Values want = test_case.attend(reference, memory);
    const Values got = test_case.attend(cuda, memory);
    EXPECT_TRUE(within(got, want, 1.5e-2 * largest(want), {{"value", std::ssize(want)}}));
    EXPECT_LE(relative_error(got, want), 5e-3);
}

constexpr Shape kShapes[] = {
    {0, 1, 4, 0, 0, 0},         {31, 1, 16, 4, 16, 0},     {300, 1, 16, 0, 0, 0},   {415, 1, 6, 40, 100, 350},
    {700, 1, 16, 64, 128, 0},   {95, 3, 4, 5, 33, 0},      {100, 40, 4, 20, 50, 0}, {0, 70, 2, 0, 20, 0},
    {5000, 1, 16, 64, 1024, 0}, {1200, 37, 6, 64, 128, 0}, {900, 5, 20, 3, 0, 0},
};

TEST_F(CudaTest, AttentionOfEveryPairOfFormats) {
    uint64_t seed = 1;
    for (const KvFormatSpec& k : kv_formats()) {
        for (const KvFormatSpec& v : kv_formats()) {
            // All shapes for pairs of a kind, a changing one for the mixed pairs.
            for (size_t i = 0; i < std::size(kShapes); ++i) {
                const bool kind = k.format == v.format || k.format == KvFormat::q2c;
                if (!kind && i != seed % std::size(kShapes)) continue;
                const Shape& shape = kShapes[i];
                SCOPED_TRACE(testing::Message() << "k " << k.name << ", v " << v.name << ", shape " << i);
                expect_near_reference({shape, k.format, v.format, seed}, *reference_, *cuda_);
            }
            ++seed;
        }
    }
}

// So long that splits have several tiles each, and ends that fill none.
TEST_F(CudaTest, AttentionOfALongPast) {
    struct Pair {
        KvFormat k, v;
    };
    for (const Pair& pair : {Pair{KvFormat::bf16, KvFormat::bf16}, Pair{KvFormat::q8_0, KvFormat::q8_0},
                             Pair{KvFormat::q6_0, KvFormat::q6_0}, Pair{KvFormat::q4_0, KvFormat::q4_0},
                             Pair{KvFormat::q2c, KvFormat::q4_0}}) {
        SCOPED_TRACE(testing::Message() << kv_format_spec(pair.k).name << ", " << kv_format_spec(pair.v).name);
        expect_near_reference({{40000, 1, 4, 64, 128, 0}, pair.k, pair.v, 7}, *reference_, *cuda_);
    }
}

TEST_F(CudaTest, AttentionIsTheSameBitsTwice) {
    for (const int tokens : {1, 50}) {
        for (const KvFormat format : {KvFormat::bf16, KvFormat::q8_0, KvFormat::q4_0, KvFormat::q4_nl}) {
            AttentionCase test_case({3000, tokens, 16, 64, 128, 0}, format, format, 9);
            KvMemory memory(test_case.memory_shape());
            test_case.fill(*reference_, memory);
            const Values first = test_case.attend(*cuda_, memory);
            EXPECT_TRUE(same_bits(test_case.attend(*cuda_, memory), first, {{"value", std::ssize(first)}}));
        }
    }
}

// The recall test's control: cells that nobody may see.
TEST_F(CudaTest, AttentionPassesOverMaskedCells) {
    for (const int tokens : {1, 20}) {
        for (const KvFormat format : {KvFormat::f16, KvFormat::q4_0, KvFormat::q2c}) {
            AttentionCase test_case({400, tokens, 4, 20, 50, 0}, format, format, 4);
            KvMemory memory(test_case.memory_shape());
            test_case.fill(*reference_, memory);
            test_case.mask(60, 200);
            const Values want = test_case.attend(*reference_, memory);
            const Values got = test_case.attend(*cuda_, memory);
            EXPECT_TRUE(within(got, want, 1.5e-2 * largest(want), {{"value", std::ssize(want)}}));
        }
    }
}

// Heads of the real models' size: many tokens go through the chunked form, with 11-bit factors.
TEST_F(CudaTest, DeltaRuleOfManyTokens) {
    constexpr int kKeyHeads = 2, kValueHeads = 4, kDim = 128, kRow = 2 * kKeyHeads * kDim + kValueHeads * kDim;
    const std::vector<int32_t> key_heads = {0, 1, 0, 1};
    const Values a_scale = {-0.002f, -0.02f, -0.3f, -3.0f};  // long to short memory
    const Values dt_bias = make_input(InputFamily::gaussian, kValueHeads, 5);
    for (const int tokens : {64, 65, 127, 1024, 1100, 2500}) {
        SCOPED_TRACE(tokens);
        const Values qkv = make_input(InputFamily::gaussian, int64_t{tokens} * kRow, 6);
        const Values b = make_input(InputFamily::gaussian, int64_t{tokens} * kValueHeads, 7);
        const Values a = make_input(InputFamily::gaussian, int64_t{tokens} * kValueHeads, 8);
        const auto run = [&](Backend& backend, Values& state) {
            Values out = poisoned(static_cast<size_t>(tokens) * kValueHeads * kDim);
            backend.gated_delta({tokens, kKeyHeads, kValueHeads, kDim, kDim, qkv.data(), b.data(), a.data(),
                                 a_scale.data(), dt_bias.data(), key_heads.data(), state.data(), out.data(),
                                 DeltaForm::automatic});
            EXPECT_TRUE(backend.finish());
            return out;
        };
        const Values before = make_input(InputFamily::gaussian, kValueHeads * kDim * kDim, 9);
        Values want_state = before, got_state = before, again_state = before;
        const Values want = run(*reference_, want_state);
        const Values got = run(*cuda_, got_state);
        EXPECT_TRUE(
            within(got, want, 5e-3 * largest(want), {{"token", tokens}, {"head", kValueHeads}, {"value", kDim}}));
        EXPECT_TRUE(within(got_state, want_state, 5e-3 * largest(want_state),
                           {{"head", kValueHeads}, {"key", kDim}, {"value", kDim}}));
        EXPECT_LE(relative_error(got, want), 2e-3);
        EXPECT_TRUE(same_bits(run(*cuda_, again_state), got, {{"token", tokens}, {"value", kValueHeads * kDim}}));
    }
}

struct ExpertTypes {
    WeightType experts, shared;
    std::optional<WeightType> up = {}, down = {};  // of both, where they are of another type
};
class CudaExperts : public CudaTest, public testing::WithParamInterface<ExpertTypes> {};

TEST_P(CudaExperts, AreThoseOfTheReference) {
    constexpr int kHidden = 512, kWidth = 256, kExperts = 6;
    std::vector<TestMatrix> matrices;
    for (int i = 0; i < 3 * (kExperts + 1); ++i) {
        const bool down = i % 3 == 2;
        const ExpertTypes& types = GetParam();
        const WeightType gate = i < 3 * kExperts ? types.experts : types.shared;
        const WeightType type = down ? types.down.value_or(gate) : i % 3 == 1 ? types.up.value_or(gate) : gate;
        matrices.emplace_back(type, down ? kHidden : kWidth, down ? kWidth : kHidden, InputFamily::gaussian,
                              static_cast<uint64_t>(i), 0.25f + 0.0625f * static_cast<float>(i % 5));
    }
    std::vector<FfnMatrices> blocks;
    for (size_t i = 0; i < matrices.size(); i += 3) {
        blocks.push_back({matrices[i].view(), matrices[i + 1].view(), matrices[i + 2].view()});
    }
    for (const int tokens : {1, 3, 90, 300}) {
        SCOPED_TRACE(tokens);
        const Values x = make_input(InputFamily::gaussian, tokens * kHidden, 50);
        const Values router = make_input(InputFamily::gaussian, tokens * kExperts, 51);
        const Values gate = make_input(InputFamily::gaussian, tokens, 52);
        const auto run = [&](Backend& backend) {
            Values y(x.size());
            backend.moe({.tokens = tokens,
                         .hidden = kHidden,
                         .top_k = 2,
                         .experts = std::span(blocks).first(kExperts),
                         .shared = &blocks.back(),
                         .x = x.data(),
                         .router_logits = router.data(),
                         .shared_gate = gate.data(),
                         .y = y.data()});
            EXPECT_TRUE(backend.finish());
            return y;
        };
        const Values want = run(*reference_);
        const Values got = run(*cuda_);
        const double bound = tokens > 4 ? 2e-3 : 1e-4;
        EXPECT_TRUE(within(got, want, bound * largest(want), {{"token", tokens}, {"value", kHidden}}));
        EXPECT_TRUE(same_bits(run(*cuda_), got, {{"token", tokens}, {"value", kHidden}}));
    }
}
INSTANTIATE_TEST_SUITE_P(All, CudaExperts,
                         testing::Values(ExpertTypes{WeightType::q8_0, WeightType::q8_0},
                                         ExpertTypes{WeightType::q4_k, WeightType::q6_k},
                                         ExpertTypes{WeightType::q4_k, WeightType::q4_k, {}, WeightType::q6_k},
                                         ExpertTypes{WeightType::q4_0, WeightType::q8_0, WeightType::q5_1, {}},
                                         ExpertTypes{WeightType::iq4_xs, WeightType::q3_k, {}, WeightType::iq4_nl},
                                         ExpertTypes{WeightType::q2_k, WeightType::q5_0, {}, WeightType::q4_1},
                                         ExpertTypes{WeightType::q4_k, WeightType::bf16},
                                         ExpertTypes{WeightType::q5_k, WeightType::q5_k, {}, WeightType::bf16},
                                         ExpertTypes{WeightType::f8_e4m3, WeightType::f8_e4m3},
                                         ExpertTypes{WeightType::f8_e4m3_blocks, WeightType::bf16},
                                         ExpertTypes{WeightType::nvfp4_apart, WeightType::nvfp4_apart},
                                         ExpertTypes{WeightType::nvfp4_apart, WeightType::f8_e4m3},
                                         ExpertTypes{WeightType::bf16, WeightType::nvfp4_apart}),
                         [](const auto& info) { return "experts_" + std::to_string(info.index); });

}  // namespace

// Without a GPU, or above what there is, a back end says why; nothing else may break.
TEST(CudaBackend, SaysWhatItLacksOrHasAName) {
    const Result<std::unique_ptr<Backend>> backend = make_cuda_backend({});
    if (backend) {
        EXPECT_EQ((*backend)->name().substr(0, 6), "cuda, ");
    } else {
        EXPECT_EQ(backend.error().kind, ErrorKind::device);
        EXPECT_EQ(backend.error().message.back(), '.');
    }
}

TEST(CudaMemory, TheBudgetHolds) {
    constexpr int64_t kMiB = 1 << 20;
    Result<std::unique_ptr<Backend>> backend = make_cuda_backend({.budget_bytes = 64 * kMiB});
    if (!backend) GTEST_SKIP() << backend.error().message;
    Memory& memory = (*backend)->memory();
    const Result<Buffer> too_much = memory.allocate(65 * kMiB, "weights");
    ASSERT_FALSE(too_much);
    EXPECT_EQ(too_much.error().kind, ErrorKind::memory);
    EXPECT_NE(too_much.error().message.find("65.00 MiB"), std::string::npos) << too_much.error().message;

    Result<std::unique_ptr<GrowableRange>> range = memory.reserve(int64_t{1} << 36, "K cache");
    ASSERT_TRUE(range) << range.error().message;
    ASSERT_TRUE((*range)->commit(20 * kMiB));
    std::vector<std::byte> bytes(20 * kMiB, std::byte{7});
    memory.upload((*range)->data(), bytes.data(), bytes.size());
    ASSERT_TRUE((*range)->commit(60 * kMiB));  // what is there stays, where it is
    std::vector<std::byte> back(60 * kMiB, std::byte{1});
    memory.download(back.data(), (*range)->data(), back.size());
    EXPECT_EQ(back[20 * kMiB - 1], std::byte{7});
    EXPECT_EQ(back[20 * kMiB], std::byte{0}) << "fresh pages read as zero";
    EXPECT_FALSE((*range)->commit(70 * kMiB));
    EXPECT_EQ((*range)->committed_bytes(), static_cast<size_t>(60 * kMiB));
    ASSERT_TRUE((*range)->commit(0));
    EXPECT_EQ((*range)->committed_bytes(), 0u);
    EXPECT_TRUE(memory.allocate(60 * kMiB, "weights"));
    EXPECT_TRUE((*backend)->finish());
}

}  // namespace octavo::test
