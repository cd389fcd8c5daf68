// A change of the cache's settings that does not end, at every layer: the cache is then the old one, the new one or
// none, and says which; never a mixture.
#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "runtime/kv/kv_cache.h"
#include "tests/support/memory_limit_platform.h"
#include "tests/support/random.h"

namespace octavo {
namespace {

constexpr KvShape shape{6, 2, 64};
constexpr int64_t kCells = 3000;
constexpr size_t kRowFloats = 2 * 64;

KvSettings settings_of(const char* scheme) {
    KvSettings settings;
    settings.scheme = *parse_kv_scheme(scheme);
    return settings;
}

using Rows = std::vector<float>;  // [kCells][kv_heads][head_dim]

class KvChangeFailureTest : public testing::Test {
  protected:
    // A cache with random rows; in `huge_layer`, one value that only float32 holds.
    KvCache filled(const char* scheme, int huge_layer = -1) {
        Result<KvCache> cache = KvCache::create(shape, settings_of(scheme), 100000, host_);
        EXPECT_TRUE(cache && cache->commit(kCells));
        test::Random random(5);
        for (int layer = 0; layer < shape.layers; ++layer) {
            Rows k(kCells * kRowFloats), v(kCells * kRowFloats);
            for (Rows* rows : {&k, &v})
                for (float& value : *rows) value = random.uniform(-1, 1);
            if (layer == huge_layer) v[2500 * kRowFloats] = 1e30f;
            EXPECT_TRUE(backend_->kv_store({cache->view(layer), 0, kCells, k.data(), v.data()}));
        }
        return std::move(*cache);
    }

    // K and V of all layers as attention would read them.
    std::vector<Rows> contents(const KvCache& cache) {
        std::vector<Rows> all;
        for (int layer = 0; layer < shape.layers; ++layer) {
            Rows k(kCells * kRowFloats), v(kCells * kRowFloats);
            backend_->kv_load({cache.view(layer), 0, kCells, k.data(), v.data()}, kCells - 1);
            all.push_back(std::move(k));
            all.push_back(std::move(v));
        }
        return all;
    }

    // What a cache is after a change that may have failed: wholly one of the two, or empty.
    void expect_whole(const KvChange& change, const KvCache& cache, const std::vector<Rows>& before,
                      const std::vector<Rows>& changed) {
        EXPECT_EQ(change.error.has_value(), change.outcome != KvChangeOutcome::changed);
        switch (change.outcome) {
            case KvChangeOutcome::changed: EXPECT_TRUE(contents(cache) == changed) << "not wholly the new one"; break;
            case KvChangeOutcome::kept_old: EXPECT_TRUE(contents(cache) == before) << "not wholly the old one"; break;
            case KvChangeOutcome::lost:
                EXPECT_EQ(cache.committed_bytes(), 0) << "nothing may be left that could be read";
                EXPECT_NE(change.error->message.find("must be read again"), std::string::npos) << change.error->message;
                break;
        }
    }

    HostMemory host_;
    std::unique_ptr<Backend> backend_ = make_cpu_backend(1, detect_cpu_isa());
    Job job_;
};

TEST_F(KvChangeFailureTest, ValuesThatDoNotFitInAnyLayer) {
    for (int layer = 0; layer < shape.layers; ++layer) {
        for (const KvChangeRoom room : {KvChangeRoom::keep_old, KvChangeRoom::release_old}) {
            SCOPED_TRACE(testing::Message()
                         << "layer " << layer << (room == KvChangeRoom::keep_old ? "" : ", released"));
            KvCache cache = filled("f32", layer);
            const std::vector<Rows> before = contents(cache);
            const KvChange change = cache.change(settings_of("q4_0"), kCells, *backend_, job_, room);
            expect_whole(change, cache, before, {});
            const bool lost = room == KvChangeRoom::release_old && layer > 0;
            EXPECT_EQ(change.outcome, lost ? KvChangeOutcome::lost : KvChangeOutcome::kept_old);
        }
    }
}

TEST_F(KvChangeFailureTest, MemoryThatRunsOutAtAnyPoint) {
    KvCache control = filled("q4_0");
    const std::vector<Rows> before = contents(control);
    ASSERT_EQ(control.change(settings_of("q8_0"), kCells, *backend_, job_).outcome, KvChangeOutcome::changed);
    const std::vector<Rows> changed = contents(control);
    const int64_t new_bytes = control.committed_bytes();
    for (const KvChangeRoom room : {KvChangeRoom::keep_old, KvChangeRoom::release_old}) {
        std::map<KvChangeOutcome, int> outcomes;
        for (int64_t more = 0; more < new_bytes + 4 * 1024 * 1024; more += new_bytes / 13) {
            SCOPED_TRACE(testing::Message() << more << " bytes more");
            KvCache cache = filled("q4_0");
            std::unique_ptr<MemoryLimit> limit = MemoryLimit::after(more);
            if (limit == nullptr) GTEST_SKIP() << "this system cannot limit a process's memory, or a sanitizer uses it";
            const KvChange change = cache.change(settings_of("q8_0"), kCells, *backend_, job_, room);
            limit.reset();
            expect_whole(change, cache, before, changed);
            if (change.outcome == KvChangeOutcome::kept_old) {
                EXPECT_EQ(change.error->kind, ErrorKind::memory) << change.error->message;
            }
            ++outcomes[change.outcome];
        }
        EXPECT_GT(outcomes[KvChangeOutcome::kept_old], 0);
        EXPECT_GT(outcomes[KvChangeOutcome::changed], 0);
        EXPECT_EQ(outcomes[KvChangeOutcome::lost] > 0, room == KvChangeRoom::release_old);
    }
}

// When the cancel arrives is chance; what is left never is.
TEST_F(KvChangeFailureTest, ACancelBetweenAnyTwoLayers) {
    KvCache control = filled("q4_0");
    const std::vector<Rows> before = contents(control);
    ASSERT_EQ(control.change(settings_of("q8_0"), kCells, *backend_, job_).outcome, KvChangeOutcome::changed);
    const std::vector<Rows> changed = contents(control);
    for (int layers_done = 0; layers_done < shape.layers; ++layers_done) {
        for (const KvChangeRoom room : {KvChangeRoom::keep_old, KvChangeRoom::release_old}) {
            KvCache cache = filled("q4_0");
            Job job;
            std::thread person([&] {
                while (job.progress().done < layers_done) std::this_thread::yield();
                job.cancel();
            });
            const KvChange change = cache.change(settings_of("q8_0"), kCells, *backend_, job, room);
            job.report(shape.layers, shape.layers);
            person.join();
            expect_whole(change, cache, before, changed);
        }
    }
}

}  // namespace
}  // namespace octavo
