// Experts in two places give what they give in one, wherever each of them lies and whatever travels.
#include "kernels/split_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/forwarding_backend.h"
#include "kernels/placed_ffn.h"
#include "tests/support/compare.h"
#include "tests/support/fake_device.h"
#include "tests/support/inputs.h"

namespace octavo {
namespace {

using test::InputFamily;
using test::make_input;
using test::TestMatrix;

constexpr int kHidden = 64;
constexpr int kFf = 32;
constexpr int kExperts = 9;
constexpr int kTopK = 4;
constexpr int kStreamedTokens = 8;

// A stream that copies as late as it may and destroys what nobody may count on any more: a slot from its release on,
// and pieces once they were copied.
class LateUploads final : public UploadStream {
  public:
    explicit LateUploads(const UploadOptions& options)
        : options_(options), pieces_(static_cast<size_t>(options.pieces)), filled_(options.slots, nullptr) {
        for (std::vector<std::byte>& piece : pieces_) piece.resize(options.piece_bytes);
    }

    void begin(int slot) override {
        EXPECT_EQ(slot_, -1) << "one filling at a time";
        slot_ = slot;
        to_ = nullptr;
    }
    std::byte* piece() override {
        copy_one();  // nothing where all pieces have been copied
        return pieces_[next_].data();
    }
    void send(std::byte* to, size_t bytes) override {
        EXPECT_LE(bytes, options_.piece_bytes);
        if (to_ == nullptr) to_ = to;
        sent_.push_back({to, bytes, next_});
        next_ = (next_ + 1) % pieces_.size();
        ++count;
    }
    void end() override {
        end_ = sent_.empty() ? nullptr : sent_.back().to + sent_.back().bytes;
        while (!sent_.empty()) copy_one(true);
        filled_[static_cast<size_t>(slot_)] = to_;
        slot_ = -1;
    }
    void release(int slot) override {
        std::byte* const from = filled_[static_cast<size_t>(slot)];
        ASSERT_EQ(from, to_);
        std::fill(from, end_, std::byte{0xff});
    }

    int count = 0;

  private:
    struct Sent {
        std::byte* to;
        size_t bytes;
        size_t piece;
    };
    void copy_one(bool any = false) {
        if (sent_.empty() || (!any && sent_.front().piece != next_)) return;
        const Sent sent = sent_.front();
        sent_.erase(sent_.begin());
        std::copy_n(pieces_[sent.piece].data(), sent.bytes, sent.to);
        std::ranges::fill(pieces_[sent.piece], std::byte{0xff});
    }

    UploadOptions options_;
    std::vector<std::vector<std::byte>> pieces_;
    std::vector<Sent> sent_;
    std::vector<std::byte*> filled_;  // [slots], where the last filling began
    int slot_ = -1;
    size_t next_ = 0;
    std::byte* to_ = nullptr;
    std::byte* end_ = nullptr;
};

// Forwards a device's memory too, so that it counts as one.
class LateDevice final : public ForwardingBackend, public UploadsAhead {
  public:
    explicit LateDevice(int64_t budget_bytes) : ForwardingBackend(test::fake_device({.budget_bytes = budget_bytes})) {}
    Result<std::unique_ptr<UploadStream>> upload_stream(const UploadOptions& options) override {
        slots = options.slots;
        auto stream = std::make_unique<LateUploads>(options);
        uploads = stream.get();
        return std::unique_ptr<UploadStream>(std::move(stream));
    }

    int slots = 0;
    LateUploads* uploads = nullptr;
};

class SplitBackendTest : public testing::Test {
  protected:
    SplitBackendTest() {
        for (uint64_t i = 0; i <= kExperts; ++i) {  // the last is the shared one
            // Every third takes half as many bytes again, and not a multiple of the others'.
            const WeightType type = i % 3 == 1 ? WeightType::f16 : WeightType::q8_0;
            for (const auto& [rows, cols] :
                 {std::pair(kFf, kHidden), std::pair(kFf, kHidden), std::pair(kHidden, kFf)}) {
                matrices_.emplace_back(type, rows, cols, InputFamily::gaussian, 1 + matrices_.size());
            }
        }
        for (size_t i = 0; i < matrices_.size(); i += 3)
            ffns_.push_back({matrices_[i].view(), matrices_[i + 1].view(), matrices_[i + 2].view()});
    }

    int64_t largest_expert() const { return placed_ffn_bytes(ffns_[1]); }

    SplitOptions options(int64_t slice_bytes, size_t piece_bytes) const {
        SplitOptions options;
        options.hidden = kHidden;
        options.experts = kExperts;
        options.slice_bytes = slice_bytes;
        options.streamed_tokens = kStreamedTokens;
        options.threads = 2;
        options.uploads.pieces = 3;
        options.uploads.piece_bytes = piece_bytes;
        options.experts_yield = {[] { return size_t{0}; }, [](size_t) {}};
        return options;
    }

    std::unique_ptr<Backend> split(int64_t slice_bytes, size_t piece_bytes = 5000) const {
        return split(test::fake_device({}), slice_bytes, piece_bytes);
    }
    std::unique_ptr<Backend> split(std::unique_ptr<Backend> device, int64_t slice_bytes, size_t piece_bytes) const {
        Result<std::unique_ptr<Backend>> backend = make_split_backend(
            std::move(device), make_cpu_backend(2, detect_cpu_isa()), options(slice_bytes, piece_bytes));
        EXPECT_TRUE(backend) << backend.error().message;
        return std::move(*backend);
    }

    // Those whose bit is set in `on_host` are left to the CPU.
    std::vector<float> run(Backend& backend, int tokens, unsigned on_host) const {
        std::vector<FfnMatrices> device(ffns_.begin(), ffns_.begin() + kExperts);
        std::vector<FfnMatrices> host = device;
        for (size_t e = 0; e < kExperts; ++e) {
            FfnMatrices& left = on_host >> e & 1 ? device[e] : host[e];
            left = absent_ffn(left);
        }
        const std::vector<float> x = make_input(InputFamily::gaussian, int64_t{tokens} * kHidden, 100);
        const std::vector<float> logits = make_input(InputFamily::gaussian, int64_t{tokens} * kExperts, 101);
        const std::vector<float> gate = make_input(InputFamily::gaussian, tokens, 102);
        std::vector<float> y = make_input(InputFamily::gaussian, int64_t{tokens} * kHidden, 103);
        Moe op;
        op.tokens = tokens;
        op.hidden = kHidden;
        op.top_k = kTopK;
        op.experts = device;
        if (on_host != 0) op.host_experts = host;
        op.shared = &ffns_.back();
        op.x = x.data();
        op.router_logits = logits.data();
        op.shared_gate = gate.data();
        op.y = y.data();
        backend.moe(op);
        EXPECT_TRUE(backend.finish());
        return y;
    }

    std::vector<TestMatrix> matrices_;
    std::vector<FfnMatrices> ffns_;
};

TEST_F(SplitBackendTest, GivesWhatOnePlaceGives) {
    const std::unique_ptr<Backend> one_place = make_cpu_backend(1, detect_cpu_isa());
    for (const int64_t experts_a_slice : {1, 2, 4, 100}) {
        const std::unique_ptr<Backend> backend = split(experts_a_slice * largest_expert());
        for (const int tokens : {1, 3, kStreamedTokens - 1, kStreamedTokens, 40}) {
            const std::vector<float> want = run(*one_place, tokens, 0);
            for (const unsigned on_host : {0u, 1u, 0x100u, 0x0aau, 0x155u, 0x1feu, 0x1ffu}) {
                EXPECT_TRUE(
                    test::within(run(*backend, tokens, on_host), want, 1e-3, {{"token", tokens}, {"column", kHidden}}))
                    << experts_a_slice << " experts a slice, on the host " << on_host;
            }
        }
    }
}

// However late copies come, and whatever the sizes of slices and pieces: smaller than an expert, larger, all in one.
TEST_F(SplitBackendTest, CopiesThatRunAheadGiveTheSameBits) {
    const int64_t expert = largest_expert();
    for (const int64_t slice_bytes : {expert, expert + 1000, 2 * expert, 100 * expert}) {
        const std::unique_ptr<Backend> plain = split(slice_bytes);
        for (const size_t piece_bytes : {size_t{300}, size_t{4096}, size_t{300000}, size_t{1} << 20}) {
            auto device = std::make_unique<LateDevice>(0);
            const LateDevice& watched = *device;
            const std::unique_ptr<Backend> ahead = split(std::move(device), slice_bytes, piece_bytes);
            for (const unsigned on_host : {1u, 0x0aau, 0x1ffu}) {
                for (int i = 0; i < 2; ++i) {
                    EXPECT_EQ(run(*ahead, 40, on_host), run(*plain, 40, on_host))
                        << "slices of " << slice_bytes << ", pieces of " << piece_bytes << ", on the host " << on_host;
                }
            }
            EXPECT_EQ(watched.slots, 2);
            EXPECT_GT(watched.uploads->count, 0);
        }
    }
}

TEST_F(SplitBackendTest, WhereOneSliceAloneFindsRoomItIsEnough) {
    const int64_t slice_bytes = 2 * largest_expert();
    auto device = std::make_unique<LateDevice>(slice_bytes + 100);
    const LateDevice& watched = *device;
    const std::unique_ptr<Backend> one_slice = split(std::move(device), slice_bytes, 4096);
    EXPECT_EQ(watched.slots, 1);
    EXPECT_EQ(run(*one_slice, 40, 0x1ff), run(*split(slice_bytes), 40, 0x1ff));

    const Result<std::unique_ptr<Backend>> refused =
        make_split_backend(test::fake_device({.budget_bytes = slice_bytes - 1}), make_cpu_backend(1, detect_cpu_isa()),
                           options(slice_bytes, 4096));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::memory);
    EXPECT_NE(refused.error().message.find("experts that travel"), std::string::npos) << refused.error().message;
}

TEST_F(SplitBackendTest, ItsMemoryIsTold) {
    const std::unique_ptr<Backend> backend = split(largest_expert(), 4096);
    EXPECT_EQ(backend->own_bytes().scratch, 2 * largest_expert());
    EXPECT_EQ(backend->memory().taken_bytes(), static_cast<size_t>(2 * largest_expert()));
    EXPECT_EQ(split_host_bytes(options(largest_expert(), 4096)),
              3 * 4096 + kStreamedTokens * (2 * kHidden + kExperts) * 4);
}

TEST_F(SplitBackendTest, TheSameCallsGiveTheSameBits) {
    const std::unique_ptr<Backend> first = split(2 * largest_expert());
    const std::unique_ptr<Backend> second = split(2 * largest_expert());
    for (const int tokens : {1, 5, 40, 1}) {
        EXPECT_EQ(run(*first, tokens, 0x0f5), run(*second, tokens, 0x0f5)) << tokens;
        EXPECT_EQ(run(*first, tokens, 0x0f5), run(*second, tokens, 0x0f5)) << tokens;
    }
}

TEST_F(SplitBackendTest, AskedForRoomExpertsGiveWay) {
    SplitOptions options;
    options.slice_bytes = 50;
    size_t held = 3000;
    options.experts_yield = {[&] { return held; }, [&](size_t bytes) { held -= std::min(held, bytes); }};
    const Result<std::unique_ptr<Backend>> backend =
        make_split_backend(test::fake_device({.budget_bytes = 1100}), make_cpu_backend(1, detect_cpu_isa()), options);
    ASSERT_TRUE(backend);
    Memory& memory = (*backend)->memory();
    EXPECT_EQ(memory.free_bytes(), 4000u);
    EXPECT_TRUE(memory.room_for(1000, "what is there"));
    EXPECT_EQ(held, 3000u) << "nobody was in need";
    // The fake device gives nothing back here, so the request is refused in the end: but only then.
    EXPECT_FALSE(memory.allocate(1500, "more"));
    EXPECT_EQ(held, 2500u);
    EXPECT_FALSE(memory.allocate(100000, "more than there can ever be"));
    EXPECT_EQ(held, 2500u) << "in vain";
}

}  // namespace
}  // namespace octavo
