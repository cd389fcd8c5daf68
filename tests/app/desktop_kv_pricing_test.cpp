// Prices of KV settings as the panel shows them, on a machine whose memory the test chooses.
#include <gtest/gtest.h>

#include "app/desktop/kv_pricing.h"
#include "app/model_choice.h"

namespace octavo {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class KvPricing : public testing::Test {
  protected:
    KvPricing() {
        situation_.model = model_.get();
        situation_.info.kv = settings("f16");
        situation_.info.memory.workspace_bytes = 8 * kMiB;
        situation_.now.cache = {settings("f16"), 65536};
        situation_.now.tokens = 1000;
        situation_.machine.total = 8192 * kMiB;
        situation_.machine.available = 4096 * kMiB;
    }
    static KvSettings settings(std::string_view scheme) { return default_kv_settings(*parse_kv_scheme(scheme)); }

    std::shared_ptr<const Model> model_ = *open_chosen_model("");
    KvSituation situation_;
};

TEST_F(KvPricing, ListsEverySchemeOfTheMenu) {
    const std::vector<KvSchemeRow> rows = price_schemes(situation_);
    size_t in_menu = 0;
    for (const KvSchemeSpec& spec : kv_schemes()) in_menu += spec.in_menu;
    ASSERT_EQ(rows.size(), in_menu);
    for (const KvSchemeRow& row : rows) {
        EXPECT_GT(row.bytes_per_token, 0) << row.name;
        EXPECT_GT(row.largest_context, 0) << row.name;
        EXPECT_NE(row.error, KvErrorClass::unknown) << row.name;
        EXPECT_TRUE(row.unavailable.empty()) << row.name;
    }
    EXPECT_EQ(rows[0].name, "f16");
    EXPECT_EQ(rows[0].bytes_per_token, 4096);
    EXPECT_EQ(rows[0].error, KvErrorClass::exact);
}

TEST_F(KvPricing, SaysWhatAChoiceTakesBeforeItIsApplied) {
    const KvPrice price = price_choice(situation_, {settings("q8_0"), KvEqualise::off, 65536});
    EXPECT_TRUE(price.fits);
    EXPECT_EQ(price.bytes_per_token, 2 * 2 * 544);
    const int64_t overlay = kv_overlay_bytes(kv_shape(model_->config), settings("q8_0"));
    EXPECT_EQ(price.bytes_full, 65536 * price.bytes_per_token + overlay);
    EXPECT_EQ(price.bytes_after, 1024 * price.bytes_per_token + overlay);  // 1,000 tokens, in steps of 1,024
    EXPECT_NE(price.sentence.find("1,000 tokens are converted"), std::string::npos) << price.sentence;
}

TEST_F(KvPricing, OnAGpuItsOwnMemoryCounts) {
    situation_.info.memory.place = "gpu";
    situation_.info.free_bytes = static_cast<size_t>(700 * kMiB);
    situation_.headroom_bytes = 2048 * kMiB;  // of the system's memory
    EXPECT_EQ(memory_budget(situation_), 700 * kMiB);
    EXPECT_FALSE(price_choice(situation_, {settings("f16"), KvEqualise::off, 262144}).fits);
    EXPECT_TRUE(price_choice(situation_, {settings("q4_0"), KvEqualise::off, 262144}).fits);
    situation_.now.other_conversations_bytes = 600 * kMiB;
    EXPECT_FALSE(price_choice(situation_, {settings("q4_0"), KvEqualise::off, 262144}).fits);
}

TEST_F(KvPricing, RefusesWithTheBytesWantedAndFree) {
    situation_.machine.available = 100 * kMiB;
    situation_.headroom_bytes = 20 * kMiB;
    const KvPrice price = price_choice(situation_, {settings("f16"), KvEqualise::off, 262144});
    EXPECT_FALSE(price.fits);
    EXPECT_NE(price.sentence.find("1.00 GiB are the KV cache"), std::string::npos) << price.sentence;
    EXPECT_NE(price.sentence.find("80.0 MiB are free"), std::string::npos) << price.sentence;
    EXPECT_NE(price.sentence.find("20.0 MiB left to other programs"), std::string::npos) << price.sentence;
}

TEST_F(KvPricing, LessThanWhatIsThereIsNeverRefused) {
    situation_.machine.available = 1 * kMiB;
    EXPECT_TRUE(price_choice(situation_, {settings("q4_0"), KvEqualise::off, 65536}).fits);
    EXPECT_FALSE(price_choice(situation_, {settings("f16"), KvEqualise::off, 131072}).fits);
}

TEST_F(KvPricing, WhatTheConversationHoldsCountsAsFree) {
    situation_.machine.available = 0;
    const int64_t before = memory_budget(situation_);
    situation_.now.memory = {{MemoryLineKind::weights, "cpu", 32 * kMiB, 32 * kMiB},
                             {MemoryLineKind::kv_cache, "cpu", 4 * kMiB, 5 * kMiB}};
    EXPECT_EQ(memory_budget(situation_) - before, 5 * kMiB);
}

TEST_F(KvPricing, RefusesAContextShorterThanTheConversation) {
    const KvPrice price = price_choice(situation_, {settings("f16"), KvEqualise::off, 512});
    EXPECT_FALSE(price.fits);
    EXPECT_NE(price.sentence.find("1,000 tokens already"), std::string::npos) << price.sentence;
}

TEST_F(KvPricing, RefusesSettingsThatTheSchemeCannotHave) {
    KvSettings raw = settings("f16");
    raw.window = 128;
    EXPECT_FALSE(price_choice(situation_, {raw, KvEqualise::off, 65536}).fits);
}

TEST_F(KvPricing, OtherChannelsMeanAnotherLoad) {
    EXPECT_TRUE(price_choice(situation_, {settings("q4_0"), KvEqualise::free, 65536}).reloads);
    EXPECT_FALSE(price_choice(situation_, {settings("q4_0"), KvEqualise::off, 65536}).reloads);
}

TEST_F(KvPricing, LinesOfTheBarAreThePlanBesideWhatIsMeasured) {
    situation_.now.memory = {{MemoryLineKind::kv_cache, "cpu", 4 * kMiB, 5 * kMiB}};
    situation_.now.other_conversations_bytes = 7 * kMiB;
    const std::vector<MemoryLineState> lines = memory_lines(situation_);
    ASSERT_EQ(lines.size(), 8u);
    EXPECT_EQ(lines[1].name, "KV cache");
    EXPECT_EQ(lines[1].planned_bytes, 65536 * 4096);
    EXPECT_EQ(lines[1].measured_bytes, 5 * kMiB);
    EXPECT_EQ(lines[7].measured_bytes, 7 * kMiB);
}

TEST_F(KvPricing, ANewConversationGetsTheContextThatFits) {
    EXPECT_EQ(fitting_context(situation_, settings("f16")), 262144);
    situation_.machine.available = 300 * kMiB;
    const int64_t fits = fitting_context(situation_, settings("f16"));
    EXPECT_LT(fits, 262144);
    EXPECT_EQ(fits % 1024, 0);
    EXPECT_GT(fitting_context(situation_, settings("q4_0")), fits);
    situation_.machine.available = 0;
    EXPECT_EQ(fitting_context(situation_, settings("f16")), 1024);  // something, so that the refusal names numbers
}

}  // namespace
}  // namespace octavo
