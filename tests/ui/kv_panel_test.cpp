// The KV cache panel, driven by name: what is set is priced, and nothing is applied before the button.
#include <gtest/gtest.h>

#include "ui/testing/driver.h"
#include "ui/testing/sample_states.h"

namespace octavo {
namespace {

class KvPanel : public testing::Test {
  protected:
    KvPanel() { show(); }
    void show() {
        WindowLayout layout;
        layout.panel = SidePanel::kv;
        driver_ = std::make_unique<UiDriver>(layout, *sample_state("chat"));
        driver_->frames();
        driver_->take_actions();
    }
    // The last of them, which there must be.
    template <class Wanted>
    Wanted last_taken() {
        const std::vector<Wanted> found = taken<Wanted>();
        EXPECT_FALSE(found.empty());
        return found.empty() ? Wanted{} : found.back();
    }
    template <class Wanted>
    std::vector<Wanted> taken() {
        std::vector<Wanted> found;
        for (const Action& action : driver_->take_actions())
            if (const auto* wanted = std::get_if<Wanted>(&action)) found.push_back(*wanted);
        return found;
    }
    // Along a slider, as shares of its width.
    void drag(std::string_view name, float from, float to) {
        const SeenItem* item = driver_->find(name);
        ASSERT_NE(item, nullptr) << driver_->seen();
        const ImVec2 min = item->min;
        const ImVec2 max = item->max;
        const float y = (min.y + max.y) / 2;
        driver_->drag({min.x + (max.x - min.x) * from, y}, {min.x + (max.x - min.x) * to, y});
        driver_->frames();
    }
    void choose_scheme(const char* name) {
        ASSERT_TRUE(driver_->click("##kv-scheme")) << driver_->seen();
        driver_->frames();
        ASSERT_TRUE(driver_->click(name)) << driver_->seen();
        driver_->frames();
    }

    std::unique_ptr<UiDriver> driver_;
};

TEST_F(KvPanel, AChosenSchemeIsPricedAndThenApplied) {
    choose_scheme("q8_0");
    const auto priced = taken<action::PriceKv>();
    ASSERT_FALSE(priced.empty());
    EXPECT_EQ(kv_scheme_name(priced.back().choice.settings.scheme), "q8_0");
    EXPECT_EQ(priced.back().choice.settings.window, KvSettings::default_window);
    KvPrice price;
    price.choice = priced.back().choice;
    price.sentence = "26 MiB now.";
    driver_->state().kv.price = price;
    driver_->frames();
    ASSERT_TRUE(driver_->click("Apply##kv")) << driver_->seen();
    const auto applied = taken<action::ApplyKv>();
    ASSERT_EQ(applied.size(), 1u);
    EXPECT_EQ(applied[0].choice, price.choice);
}

TEST_F(KvPanel, WhatDoesNotFitCannotBeApplied) {
    choose_scheme("q8_0");
    KvPrice price;
    price.choice = last_taken<action::PriceKv>().choice;
    price.fits = false;
    price.sentence = "2.00 GiB wanted, 1.00 GiB free.";
    driver_->state().kv.price = price;
    driver_->frames();
    driver_->click("Apply##kv");
    EXPECT_TRUE(taken<action::ApplyKv>().empty());
}

TEST_F(KvPanel, DraggingTheContextAsksForItsPriceAllTheWay) {
    drag("##kv-context", 0.9f, 0.5f);
    const auto priced = taken<action::PriceKv>();
    ASSERT_FALSE(priced.empty());
    const int64_t tokens = priced.back().choice.context_tokens;
    EXPECT_LT(tokens, 262144);
    EXPECT_GE(tokens, 1024);
    EXPECT_EQ(tokens % 1024, 0);
    EXPECT_TRUE(taken<action::ApplyKv>().empty());
}

TEST_F(KvPanel, TheWindowIsDraggedInSteps) {
    drag("##kv-window", 0.5f, 0.95f);
    const auto priced = taken<action::PriceKv>();
    ASSERT_FALSE(priced.empty());
    EXPECT_GT(priced.back().choice.settings.window, KvSettings::default_window);
    EXPECT_EQ(priced.back().choice.settings.window % 32, 0);
}

TEST_F(KvPanel, DiscardGoesBackToWhatIsApplied) {
    drag("##kv-context", 0.9f, 0.5f);
    ASSERT_TRUE(driver_->click("Discard##kv")) << driver_->seen();
    EXPECT_EQ(taken<action::DiscardKv>().size(), 1u);
    driver_->frames();
    EXPECT_EQ(driver_->find("Discard##kv"), nullptr);
}

TEST_F(KvPanel, ARawSchemeHasNoWindow) {
    choose_scheme("f16");
    EXPECT_EQ(last_taken<action::PriceKv>().choice.settings.window, 0);
    EXPECT_EQ(driver_->find("##kv-window"), nullptr);
}

TEST_F(KvPanel, AnotherConversationsSettingsAreTakenOver) {
    drag("##kv-context", 0.9f, 0.5f);
    driver_->state().kv.applied.context_tokens = 4096;
    driver_->frames();
    EXPECT_EQ(driver_->find("Apply##kv"), nullptr);
}

TEST_F(KvPanel, AnInexactCacheCanBeRebuilt) {
    EXPECT_EQ(driver_->find("Rebuild exactly##kv"), nullptr);
    driver_->state().kv.exact_from = 500;
    driver_->frames();
    ASSERT_TRUE(driver_->click("Rebuild exactly##kv")) << driver_->seen();
    EXPECT_EQ(taken<action::RebuildKv>().size(), 1u);
}

TEST_F(KvPanel, TheGpuBudgetIsSetAndThenApplied) {
    EXPECT_EQ(driver_->find("##gpu-budget"), nullptr) << "there is no GPU";
    driver_->state().kv = {};  // it stands at the top then
    driver_->state().kv.gpu_budget = {true, 0, int64_t{8} << 30, true, ""};
    driver_->frames();
    EXPECT_EQ(driver_->find("Load the model again within it##gpu-budget-apply"), nullptr);
    drag("##gpu-budget", 0.02f, 0.5f);
    const int64_t wanted = last_taken<action::SetGpuBudget>().bytes;
    EXPECT_NEAR(static_cast<double>(wanted), static_cast<double>(int64_t{4} << 30), double{256 << 20});
    EXPECT_EQ(wanted % (64 << 20), 0);
    driver_->state().kv.gpu_budget = {true, wanted, int64_t{8} << 30, false, ""};
    driver_->frames();
    ASSERT_TRUE(driver_->click("Load the model again within it##gpu-budget-apply")) << driver_->seen();
    EXPECT_EQ(taken<action::ApplyGpuBudget>().size(), 1u);
}

TEST_F(KvPanel, AGpuBudgetThatLeftNoModelCanBeRaised) {
    driver_->state().kv = {};
    driver_->state().kv.gpu_budget = {true, 64 << 20, int64_t{8} << 30, true, "The GPU budget is too small."};
    driver_->frames();
    EXPECT_NE(driver_->find("##gpu-budget"), nullptr);
}

TEST_F(KvPanel, WithoutAModelItSaysSo) {
    driver_->state().kv = {};
    driver_->frames();
    EXPECT_EQ(driver_->find("##kv-scheme"), nullptr);
}

}  // namespace
}  // namespace octavo
