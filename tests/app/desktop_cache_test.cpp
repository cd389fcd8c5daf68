// The model and the KV cache of the desktop, with a scripted engine.
#include "tests/app/desktop_fixture.h"

namespace octavo {
namespace {

using test::DesktopFixture;

class DesktopCache : public DesktopFixture {
  protected:
    static KvChoice choice(std::string_view scheme, int64_t context) {
        return {default_kv_settings(*parse_kv_scheme(scheme)), KvEqualise::off, context};
    }
};

TEST_F(DesktopCache, APriceIsShownBeforeAnythingChanges) {
    start_with_model();
    EXPECT_FALSE(look().kv.price);
    act(action::PriceKv{choice("q4_0", 65536)});
    ASSERT_TRUE(look().kv.price);
    EXPECT_EQ(look().kv.price->bytes_per_token, 2 * 2 * 288);
    EXPECT_EQ(look().kv.applied.settings.scheme, *parse_kv_scheme("f16"));
    EXPECT_TRUE(engine_->changes.empty());
    act(action::DiscardKv{});
    EXPECT_FALSE(look().kv.price);
}

TEST_F(DesktopCache, BeforeTheFirstMessageAChoiceIsTakenAtOnce) {
    start_with_model();
    act(action::ApplyKv{choice("q4_0", 65536)});
    EXPECT_EQ(look().kv.applied, choice("q4_0", 65536));
    send("hello");
    EXPECT_EQ(engine_->replies[0].cache.context_length, 65536);
    EXPECT_EQ(engine_->replies[0].cache.kv, default_kv_settings(*parse_kv_scheme("q4_0")));
}

TEST_F(DesktopCache, InAConversationTheEngineConverts) {
    start_with_model();
    act(action::ApplyKv{choice("q8_0", 65536)});
    send_and_answer("hello", "a", 500);
    act(action::ApplyKv{choice("q4_0", 65536)});
    EXPECT_TRUE(look().kv.changing);
    EXPECT_EQ(look().engine.phase, EnginePhase::converting);
    ASSERT_EQ(engine_->changes.size(), 1u);
    KvChange change;
    change.exact_from = 375;
    engine_->finish_change(change, 503);
    until([&] { return !look().kv.changing; });
    EXPECT_EQ(look().kv.applied, choice("q4_0", 65536));
    EXPECT_EQ(look().kv.exact_from, 375);
    ASSERT_TRUE(says("exact from token 375 on"));
    ASSERT_EQ(look().notices.back().buttons.size(), 1u);
    act(look().notices.back().buttons[0].action);
    EXPECT_EQ(engine_->rebuilds.size(), 1u);
    PrefillReport report;
    report.prefilled_tokens = 503;
    engine_->put(RebuildEnded{engine_->rebuilds[0], report});
    until([&] { return says("503 tokens were read again"); });
    EXPECT_EQ(look().kv.exact_from, 0);
}

TEST_F(DesktopCache, ARefusedChangeLeavesEverything) {
    start_with_model();
    act(action::ApplyKv{choice("f16", 65536)});
    send_and_answer("hello", "a", 500);
    act(action::ApplyKv{choice("q4_0", 65536)});
    KvChange change;
    change.outcome = KvChangeOutcome::kept_old;
    change.error = Error{ErrorKind::memory, "Not enough room for the KV cache: 2.00 MiB wanted, 1.00 MiB free."};
    engine_->finish_change(change, 503);
    until([&] { return !look().kv.changing; });
    EXPECT_EQ(look().kv.applied, choice("f16", 65536));
    EXPECT_NE(look().kv.error.find("2.00 MiB wanted"), std::string::npos);
}

TEST_F(DesktopCache, WhatDoesNotFitIsRefusedWithNumbers) {
    start_with_model();
    act(action::ApplyKv{choice("f16", 65536)});
    engine_->memory.available = size_t{64} << 20;
    act(action::ApplyKv{choice("f16", 262144)});
    EXPECT_NE(look().kv.error.find("1.00 GiB"), std::string::npos) << look().kv.error;
    EXPECT_EQ(look().kv.applied.context_tokens, 65536);
}

TEST_F(DesktopCache, HeadroomIsLeftToOthersAndRemembered) {
    start_with_model();
    const int64_t before = look().kv.rows[0].largest_context;
    act(action::SetHeadroom{(int64_t{4} << 30) - (int64_t{256} << 20)});
    EXPECT_LT(look().kv.rows[0].largest_context, before);
    restart();
    until([&] { return look().kv.available; });
    EXPECT_EQ(look().kv.headroom_bytes, (int64_t{4} << 30) - (int64_t{256} << 20));
}

TEST_F(DesktopCache, SettingsComeBackWithTheConversation) {
    start_with_model();
    act(action::ApplyKv{choice("q4_0", 65536)});
    send_and_answer("hello", "a", 500);
    const int64_t first = look().conversations.selected;
    act(action::NewConversation{});
    act(action::ApplyKv{choice("q8_0", 32768)});
    EXPECT_EQ(look().kv.applied, choice("q8_0", 32768));
    act(action::OpenConversation{first});
    until([&] { return look().kv.applied == choice("q4_0", 65536); });
    restart();
    until([&] { return look().kv.available && look().kv.applied == choice("q4_0", 65536); });
    EXPECT_EQ(look().composer.held_tokens, 503);
    EXPECT_EQ(look().kv.used_tokens, 0) << "the new engine has read nothing of it yet";
}

TEST_F(DesktopCache, WhatIsHeldGrowsWhileAPromptIsRead) {
    start_with_model();
    act(action::ApplyKv{choice("f16", 65536)});
    const auto cache_bytes = [&] {
        for (const MemoryLineState& line : look().kv.plan)
            if (line.name == "KV cache") return line.measured_bytes;
        return int64_t{-1};
    };
    send("hello");
    EXPECT_EQ(look().kv.used_tokens, 0);
    EXPECT_EQ(cache_bytes(), 0);
    engine_->progress(GenerationPhase::prefill, 1500, 4000, 300);
    until([&] { return look().kv.used_tokens == 1500; });
    EXPECT_EQ(look().composer.held_tokens, 1500);
    EXPECT_EQ(cache_bytes(), 2048 * look().kv.bytes_per_token) << "whole steps";
    engine_->progress(GenerationPhase::decode, 4000, 4000, 30);
    until([&] { return look().kv.used_tokens == 4000; });
    engine_->end_reply("a", 4000);
    until([&] { return look().kv.used_tokens == 4003; });
    EXPECT_EQ(look().composer.held_tokens, 4003);
}

TEST_F(DesktopCache, TheBarHasOthersAndWhatIsFree) {
    start_with_model();
    EXPECT_EQ(look().kv.memory_total_bytes, int64_t{8} << 30);
    EXPECT_EQ(look().kv.other_bytes, int64_t{4} << 30);
    EXPECT_EQ(look().kv.plan.size(), 7u);
}

TEST_F(DesktopCache, ALoadCanBeWatchedAndCancelled) {
    loads_by_itself_ = false;
    start();
    engine_->put(ModelLoading{"reading the file", {30, 100}});
    EXPECT_EQ(look().engine.phase, EnginePhase::loading);
    ASSERT_TRUE(look().model.loading);
    EXPECT_EQ(look().model.loading->done_bytes, 30);
    act(action::CancelLoad{});
    EXPECT_TRUE(look().model.loading->cancelling);
    EXPECT_EQ(engine_->cancelled_loads, 1);
    engine_->put(ModelFailed{{ErrorKind::cancelled, "Loading the model was cancelled."}, false});
    until([&] { return !look().model.loading; });
    EXPECT_EQ(look().welcome.model.find("is ready"), std::string::npos) << look().welcome.model;
    EXPECT_FALSE(look().model.loaded);
    EXPECT_FALSE(look().composer.can_send);
    // A file that is gone is not the end: the bundled model is one click away.
    act(action::LoadModel{"/models/gone.gguf"});
    engine_->put(ModelFailed{{ErrorKind::io, "/models/gone.gguf could not be opened."}, false});
    until([&] { return says("gone.gguf"); });
    ASSERT_EQ(look().notices.back().buttons.size(), 1u);
    act(look().notices.back().buttons[0].action);
    EXPECT_EQ(engine_->loads.back().path, "");
    EXPECT_FALSE(look().composer.blocked_reason.empty());
}

TEST_F(DesktopCache, AModelDroppedOnTheWindowIsLoadedAndATextAttached) {
    start_with_model();
    act(action::DropFiles{{"/models/other.gguf", std::string(OCTAVO_SOURCE_DIR) + "/LICENSE"}});
    ASSERT_EQ(engine_->loads.size(), 2u);
    EXPECT_EQ(engine_->loads[1].path, "/models/other.gguf");
    until([&] { return look().composer.attachments.size() == 1; });
    EXPECT_EQ(look().composer.attachments[0].name, "LICENSE");
}

TEST_F(DesktopCache, OtherChannelsReloadTheModel) {
    start_with_model();
    KvChoice wanted = choice("q4_0", 65536);
    wanted.equalise = KvEqualise::free;
    act(action::ApplyKv{wanted});
    ASSERT_EQ(engine_->loads.size(), 2u);
    EXPECT_EQ(engine_->loads[1].equalise, KvEqualise::free);
}

TEST_F(DesktopCache, ABrowserShowsFoldersForAPurpose) {
    start_with_model();
    act(action::AttachFile{""});
    EXPECT_EQ(look().file_browser.purpose, FilePurpose::attach_text);
    act(action::OpenFolder{OCTAVO_SOURCE_DIR});
    until([&] { return !look().file_browser.loading && look().file_browser.folder == OCTAVO_SOURCE_DIR; });
    ASSERT_FALSE(look().file_browser.items.empty());
    EXPECT_TRUE(look().file_browser.items.front().folder);
    act(action::ChooseFile{FilePurpose::attach_text, std::string(OCTAVO_SOURCE_DIR) + "/LICENSE"});
    EXPECT_EQ(look().file_browser.purpose, FilePurpose::none);
    until([&] { return look().composer.attachments.size() == 1; });
}

TEST_F(DesktopCache, ATypedPathOfAFileIsTakenFromAnyFolder) {
    start_with_model();
    const std::string file = std::string(OCTAVO_SOURCE_DIR) + "/LICENSE";
    act(action::AttachFile{""});
    act(action::OpenFolder{file});
    until([&] { return look().composer.attachments.size() == 1; });
    EXPECT_EQ(look().composer.attachments[0].name, "LICENSE");
    EXPECT_EQ(look().file_browser.purpose, FilePurpose::none);
    act(action::PickModelFolder{});  // no file is wanted: the folder with it is shown
    act(action::OpenFolder{file});
    until([&] { return look().file_browser.folder == OCTAVO_SOURCE_DIR; });
    EXPECT_EQ(look().file_browser.purpose, FilePurpose::add_model_folder);
}

TEST_F(DesktopCache, AGpuBudgetIsKeptAndCountsFromTheNextLoad) {
    start_with_model();
    EXPECT_EQ(engine_->loads.back().gpu_budget_bytes, 0);
    act(action::SetGpuBudget{512 << 20});
    EXPECT_EQ(look().kv.gpu_budget.bytes, 512 << 20);
    EXPECT_FALSE(look().kv.gpu_budget.applied);
    EXPECT_EQ(engine_->loads.size(), 1u);
    act(action::ApplyGpuBudget{});
    ASSERT_EQ(engine_->loads.size(), 2u);
    EXPECT_EQ(engine_->loads.back().gpu_budget_bytes, 512 << 20);
    until([&] { return !look().model.loading; });
    EXPECT_TRUE(look().kv.gpu_budget.applied);
    restart();
    EXPECT_EQ(engine_->loads.back().gpu_budget_bytes, 512 << 20);
}

TEST_F(DesktopCache, WhyTheModelIsNotOnTheGpuIsShown) {
    start_with_model();
    EngineInfo info;
    info.context_length = model_->config.context_length;
    info.memory.workspace_bytes = 1 << 20;
    info.gpu_refusal = "The GPU budget is too small: 90 MiB is the smallest that works.";
    engine_->put(ModelLoaded{model_, info, {}});
    until([&] { return !look().kv.gpu_budget.refusal.empty(); });
    EXPECT_EQ(look().kv.gpu_budget.refusal, info.gpu_refusal);
}

}  // namespace
}  // namespace octavo
