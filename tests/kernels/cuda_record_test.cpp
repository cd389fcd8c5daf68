// Passes that are recorded and run again, whose kernels may start before those before them have ended: the bits must be
// those of the same operations one by one.
#include <gtest/gtest.h>

#include "kernels/cuda/cuda.h"
#include "kernels/kv_format.h"
#include "tests/support/compare.h"
#include "tests/support/device_arrays.h"

namespace octavo::test {
namespace {

constexpr int kLayers = 3, kKvHeads = 2, kHeads = 16, kDim = 256;
constexpr int kPast = 5000, kPasses = 40;  // two groups of 32 cells are completed on the way

// Layers that attend one after the other, the queries of each the results of the one before.
class Layers {
  public:
    Layers(Backend& backend, KvFormat k, KvFormat v) : backend_(backend), arrays_(backend.memory()) {
        constexpr int64_t kRow = kKvHeads * kDim;
        const bool raw = kv_format_spec(v).raw();
        for (KvView& view : views_) {
            view.kv_heads = kKvHeads;
            view.head_dim = kDim;
            view.k = side(k);
            view.v = side(v);
            if (raw) continue;
            view.overlay.sinks = 64;
            view.overlay.window = 128;
            for (f16_bits** part :
                 {&view.overlay.sink_k, &view.overlay.sink_v, &view.overlay.ring_k, &view.overlay.ring_v}) {
                *part = reinterpret_cast<f16_bits*>(arrays_.take(128 * kRow * 2));
            }
        }
        k_ = arrays_.floats(kPast * kRow, 1);
        v_ = arrays_.floats(kPast * kRow, 2);
        q_ = arrays_.floats(kHeads * kDim, 3);
        gate_ = arrays_.floats(kHeads * kDim * 2, 4);
        for (float*& out : outs_) out = arrays_.floats(kHeads * kDim, 5);
        for (const KvView& view : views_) store(view, 0, kPast);
    }

    void pass(int64_t cell) {
        for (int i = 0; i < kLayers; ++i) {
            store(views_[i], cell, 1);
            backend_.attention({views_[i], cell, 1, kHeads, i == 0 ? q_ : outs_[i - 1], gate_, k_, v_, outs_[i]});
        }
    }

    // Other keys and values for the next pass, and the last layer's results.
    void renew(uint64_t seed) {
        for (float* rows : {k_, v_}) arrays_.fill(rows, kKvHeads * kDim, seed++);
    }
    std::vector<float> results() const { return arrays_.values(outs_[kLayers - 1], kHeads * kDim); }

  private:
    void store(const KvView& view, int64_t first, int count) {
        (void)backend_.kv_store({view, first, count, k_, v_});
        backend_.kv_overlay({view, first, count, k_, v_});
    }
    KvSide side(KvFormat format) {
        const int64_t rows = (kPast + kPasses + kKvGroupCells) * kKvHeads;
        KvSide result;
        result.format = format;
        result.rotate = kv_format_spec(format).rotates;
        result.payload = arrays_.take(rows * kv_payload_bytes_per_row(format, kDim));
        result.scales = arrays_.take(rows * kv_scale_bytes_per_row(format, kDim));
        if (kv_format_spec(format).per_channel()) {
            result.open = reinterpret_cast<f16_bits*>(arrays_.take(kKvGroupCells * kKvHeads * kDim * 2));
        }
        return result;
    }

    Backend& backend_;
    DeviceArrays arrays_;
    KvView views_[kLayers];
    float *k_, *v_, *q_, *gate_;
    float* outs_[kLayers];
};

}  // namespace

TEST(CudaRecord, AttentionIsTheSameBits) {
    Result<std::unique_ptr<Backend>> backend = make_cuda_backend({});
    if (!backend) GTEST_SKIP() << backend.error().message;
    struct Pair {
        KvFormat k, v;
    };
    for (const Pair& pair : {Pair{KvFormat::bf16, KvFormat::bf16}, Pair{KvFormat::q8_0, KvFormat::q8_0},
                             Pair{KvFormat::q4_0, KvFormat::q4_0}, Pair{KvFormat::q2c, KvFormat::q4_0},
                             Pair{KvFormat::q2c, KvFormat::q2c}, Pair{KvFormat::q6r, KvFormat::q4_0}}) {
        SCOPED_TRACE(testing::Message() << kv_format_spec(pair.k).name << ", " << kv_format_spec(pair.v).name);
        Layers one_by_one(**backend, pair.k, pair.v);
        Layers recorded(**backend, pair.k, pair.v);
        const uint64_t key[] = {static_cast<uint64_t>(pair.k), static_cast<uint64_t>(pair.v)};
        for (int i = 0; i < kPasses; ++i) {
            for (Layers* layers : {&one_by_one, &recorded}) layers->renew(static_cast<uint64_t>(100 + 2 * i));
            one_by_one.pass(kPast + i);
            (*backend)->repeat(key, kPast + i, [&] { recorded.pass(kPast + i); });
            ASSERT_TRUE((*backend)->finish());
            const std::vector<float> want = one_by_one.results();
            ASSERT_TRUE(same_bits(recorded.results(), want, {{"value", std::ssize(want)}})) << "pass " << i;
        }
    }
}

}  // namespace octavo::test
