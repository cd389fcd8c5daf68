#include "runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_model.h"

namespace octavo {
namespace {

TEST(MemoryPlan, ThePlanOfALengthIsWhatAConversationOfThatLengthTakes) {
    const auto model = test::random_model();
    const auto backend = make_cpu_backend(1, detect_cpu_isa());
    Result<Forward> forward = Forward::create(model->config, model->weights, *backend, 512);
    ASSERT_TRUE(forward);
    SessionOptions options;
    options.kv.scheme = *parse_kv_scheme("k=f32,v=f16");
    options.checkpoint_interval = 64;
    options.checkpoint_budget_bytes = 5 * RecurrentState::bytes_of(model->config);
    Result<std::unique_ptr<Session>> session = Session::create(model->config, *forward, options);
    ASSERT_TRUE(session);
    const std::vector<int32_t> ids(1500, 'x');
    Job job;
    ASSERT_TRUE((*session)->prefill(ids, {}, job));

    const EngineMemory engine{.page_bytes = static_cast<int64_t>(backend->memory().page_bytes()),
                              .workspace_bytes = forward->workspace_bytes(),
                              .scratch_bytes = backend->own_bytes().scratch};
    const std::vector<MemoryLine> measured = memory_plan(*model, **session, engine);
    const std::vector<MemoryLine> planned = planned_memory(*model, options, 1500, engine);
    ASSERT_EQ(measured.size(), planned.size());
    for (size_t i = 0; i < measured.size(); ++i) {
        EXPECT_EQ(measured[i].kind, planned[i].kind);
        EXPECT_EQ(measured[i].logical_bytes, planned[i].logical_bytes) << memory_line_name(measured[i].kind);
        EXPECT_EQ(measured[i].committed_bytes, planned[i].committed_bytes) << memory_line_name(measured[i].kind);
        EXPECT_LE(measured[i].logical_bytes, measured[i].committed_bytes) << memory_line_name(measured[i].kind);
        EXPECT_FALSE(memory_line_name(measured[i].kind).empty());
    }
    EXPECT_EQ(measured[1].logical_bytes, 1500 * 2 * 2 * 32 * 6);
    EXPECT_EQ(measured[1].committed_bytes, 2048 * 2 * 2 * 32 * 6);
    EXPECT_EQ(total_committed_bytes(measured), total_committed_bytes(planned));
}

TEST(MemoryPlan, DraftBlocksAreListedAndTakeNoMemory) {
    Model model = *test::random_model();
    const std::vector<MemoryLine> without = planned_memory(model, {}, 100, {});
    model.draft_bytes = 5000;
    const std::vector<MemoryLine> with = planned_memory(model, {}, 100, {});
    ASSERT_EQ(with.size(), without.size() + 1);
    EXPECT_EQ(with.back().kind, MemoryLineKind::draft);
    EXPECT_EQ(with.back().where, "file");
    EXPECT_EQ(with.back().logical_bytes, 5000);
    EXPECT_EQ(total_committed_bytes(with), total_committed_bytes(without));
}

}  // namespace
}  // namespace octavo
