// The whole program as somebody new would use it, without a display: the window without a screen, the real engine with
// the bundled model, a real store in a folder of its own. Everything is done by mouse and keyboard.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "app/desktop/desktop.h"
#include "app/desktop/layout_settings.h"
#include "app/desktop/real_engine.h"
#include "runtime/measure/sample_text.h"
#include "ui/testing/driver.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class DesktopWindow : public testing::Test {
  protected:
    DesktopWindow() {
        folder_ = fs::path(testing::TempDir()) /
                  ("octavo_window_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~DesktopWindow() override {
        close();
        fs::remove_all(folder_);
    }

    void open() {
        StoreOptions options;
        options.file = folder_ / "conversations.db";
        store_ = std::make_unique<StoreThread>(options);
        const Settings settings = *store_->ask([](Store& store) { return store.settings(); }).get();
        DesktopOptions desktop;
        desktop.make_engine = make_real_engine;
        desktop.store = store_.get();
        desktop.settings = settings;
        desktop.wake = [] {};
        desktop.now_ms = [] {
            return std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                .count();
        };
        desktop_ = make_desktop(std::move(desktop));
        WindowLayout layout = layout_of(settings);
        layout.height = 1600;  // the panels without scrolling
        driver_ = std::make_unique<UiDriver>(layout, *desktop_->state());
        until("the model is loaded", [&] { return look().kv.available; });
    }
    void close() {
        driver_.reset();
        desktop_.reset();
        store_.reset();
    }

    // One round of the window's loop.
    const ViewState& look() {
        for (Action& action : driver_->take_actions()) desktop_->handle(std::move(action));
        driver_->state() = *desktop_->state();
        driver_->frames(2);
        return driver_->state();
    }
    void until(const char* what, const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(8);
        while (std::chrono::steady_clock::now() < end) {
            look();
            if (holds()) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        FAIL() << "it never came to this: " << what << "\n" << driver_->seen();
    }
    void click(std::string_view name) {
        look();
        ASSERT_TRUE(driver_->click(name)) << name << " is not there: " << driver_->seen();
        look();
    }
    void drag(std::string_view name, float from, float to) {
        look();
        const SeenItem* item = driver_->find(name);
        ASSERT_NE(item, nullptr) << driver_->seen();
        const ImVec2 min = item->min;
        const ImVec2 max = item->max;
        const float y = (min.y + max.y) / 2;
        driver_->drag({min.x + (max.x - min.x) * from, y}, {min.x + (max.x - min.x) * to, y});
        look();
    }

    const MessageView& last() { return *look().transcript.messages.back(); }
    // Types a message, sends it with Enter, and waits for the reply.
    std::string ask(const std::string& text) {
        click("##message");
        driver_->type(text);
        return send();
    }
    std::string send() {
        const size_t before = look().transcript.messages.size();
        driver_->press(ImGuiKey_Enter);
        until("the message is sent", [&] { return look().transcript.messages.size() == before + 2; });
        until("there is a reply", [&] { return !last().busy(); });
        EXPECT_EQ(last().phase, MessagePhase::complete) << last().note;
        return last().text;
    }
    void paste(const std::string& text) {
        click("##message");
        ImGui::SetClipboardText(text.c_str());
        driver_->press(ImGuiMod_Ctrl | ImGuiKey_V);
        look();
    }
    void choose_scheme(const char* name) {
        click("##kv-scheme");
        click(name);
    }

    // A document with one fact, asked for, in about so many bytes.
    void use_it_all(size_t document_bytes);

    fs::path folder_;
    std::unique_ptr<StoreThread> store_;
    std::unique_ptr<WindowClient> desktop_;
    std::unique_ptr<UiDriver> driver_;
};

void DesktopWindow::use_it_all(size_t document_bytes) {
    open();
    // First run.
    EXPECT_TRUE(look().welcome.shown);
    EXPECT_NE(look().welcome.model.find("Pocket"), std::string::npos);
    EXPECT_FALSE(ask("hello").empty());
    EXPECT_FALSE(look().welcome.shown);

    // A long paste, and a question about it. A paragraph of sample_text tells of no ferry.
    const std::string filler = sample_text(3, document_bytes);
    const size_t middle = filler.find("\n\n", filler.size() / 2);
    paste(filler.substr(0, middle) + " The access code of the ferry is AMBER-FALCON-4417." + filler.substr(middle) +
          "\n\nWhat is the access code of the ferry?");
    until("the message is counted", [&] { return !look().composer.counting; });
    EXPECT_GT(look().composer.message_tokens, static_cast<int64_t>(document_bytes / 8));
    EXPECT_NE(send().find("AMBER-FALCON-4417"), std::string::npos) << last().text;
    const int64_t held = look().kv.used_tokens;
    EXPECT_GT(held, static_cast<int64_t>(document_bytes / 8));

    // Another scheme, from the list, in the middle of the conversation; nothing is read again.
    click("KV cache##panel");
    choose_scheme("q8_0");
    ASSERT_TRUE(look().kv.price);
    EXPECT_TRUE(look().kv.price->fits) << look().kv.price->sentence;
    EXPECT_EQ(kv_scheme_name(look().kv.applied.settings.scheme), "f16");
    click("Apply##kv");
    until("the cache is converted", [&] { return kv_scheme_name(look().kv.applied.settings.scheme) == "q8_0"; });
    EXPECT_EQ(look().kv.bytes_per_token, 2176);
    EXPECT_EQ(look().kv.used_tokens, held);
    EXPECT_NE(ask("What is the access code of the ferry?").find("AMBER-FALCON-4417"), std::string::npos) << last().text;
    ASSERT_TRUE(last().figures);
    EXPECT_GE(last().figures->reused_tokens, held - 2);
    EXPECT_NE(last().figures->scheme.find("q8_0"), std::string::npos);

    // What is measured is what was planned for this length.
    for (const MemoryLineState& line : look().kv.plan)
        if (line.name == "KV cache") {
            const int64_t steps = (look().kv.used_tokens + 1023) / 1024;
            EXPECT_NEAR(static_cast<double>(line.measured_bytes), static_cast<double>(steps * 1024 * 2176),
                        0.02 * static_cast<double>(steps * 1024 * 2176) + 65536);
        }

    // Sliders show their price before anything is applied.
    drag("##kv-context", 0.99f, 0.7f);
    ASSERT_TRUE(look().kv.price);
    const int64_t shorter = look().kv.price->bytes_full;
    EXPECT_LT(look().kv.price->choice.context_tokens, look().kv.applied.context_tokens);
    drag("##kv-window", 0.6f, 0.95f);
    EXPECT_GT(look().kv.price->bytes_full, shorter);
    EXPECT_EQ(look().kv.applied.settings.window, KvSettings::default_window);
    click("Discard##kv");
    EXPECT_FALSE(look().kv.price);

    // The recall check, run and stopped.
    click("Recall##panel");
    click("Run the check##recall");
    until("the check runs", [&] { return look().recall.done > 0; });
    click("##stop-recall");
    until("the check has stopped", [&] { return !look().recall.running; });
    EXPECT_EQ(look().recall.error, "");

    // A draft, and the end.
    click("##message");
    driver_->type("to be continued");
    look();
    const std::string answer = last().text;
    const size_t messages = look().transcript.messages.size();
    close();
    open();
    until("the conversation is back", [&] { return look().transcript.messages.size() == messages; });
    EXPECT_EQ(last().text, answer);
    EXPECT_EQ(look().composer.draft, "to be continued");
    EXPECT_EQ(kv_scheme_name(look().kv.applied.settings.scheme), "q8_0");
    EXPECT_EQ(look().conversations.items.size(), 1u);
    EXPECT_EQ(driver_->misuses(), 0);
}

TEST_F(DesktopWindow, IsUsedBySomebodyNew) { use_it_all(6000); }

using DesktopWindowFull = DesktopWindow;
TEST_F(DesktopWindowFull, IsUsedBySomebodyNewWithALongDocument) { use_it_all(100000); }

}  // namespace
}  // namespace octavo
