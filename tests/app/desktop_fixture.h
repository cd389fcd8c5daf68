// A desktop on a scripted engine and a real store, driven by actions and looked at through its state.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "app/desktop/desktop.h"
#include "tests/app/fake_engine.h"

namespace octavo::test {

class DesktopFixture : public testing::Test {
  protected:
    void start() {
        Settings settings = *store_->ask([](Store& store) { return store.settings(); }).get();
        DesktopOptions options;
        options.make_engine = [this](std::function<void()>) {
            auto engine = std::make_unique<FakeEngine>(model_);
            engine->loads_by_itself = loads_by_itself_;
            engine_ = engine.get();
            return engine;
        };
        options.store = store_.get();
        options.settings = settings;
        options.wake = [] {};
        options.now_ms = [this] { return now_ms_; };
        options.other_places = other_places_;
        desktop_ = make_desktop(std::move(options));
    }
    void restart() {
        desktop_.reset();
        start();
    }
    void start_with_model() {
        start();
        until([&] { return look().kv.available; });
    }

    const ViewState& look() {
        state_ = desktop_->state();
        return *state_;
    }
    // Lets the store and the disk do their work until something holds.
    void until(const std::function<bool()>& holds) {
        for (int i = 0; i < 5000; ++i) {
            look();
            if (holds()) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        FAIL() << "it never came to hold";
    }
    void act(Action action) { desktop_->handle(std::move(action)); }

    void send(const std::string& text) {
        const size_t asked = engine_->replies.size();
        act(action::SendMessage{text});
        until([&] { return engine_->replies.size() > asked; });
    }
    void send_and_answer(const std::string& text, const std::string& answer, int64_t prompt_tokens) {
        send(text);
        engine_->end_reply(answer, prompt_tokens);
        until([&] { return !look().transcript.messages.empty() && !look().transcript.messages.back()->busy(); });
    }
    StoredConversation stored(int64_t id) {
        return *store_->ask([id](Store& store) { return store.conversation(id); }).get();
    }
    bool says(const std::string& words) {
        for (const Notice& notice : look().notices)
            if (notice.text.find(words) != std::string::npos) return true;
        return false;
    }
    // The text of what is shown, one message after the other.
    std::vector<std::string> texts() {
        std::vector<std::string> texts;
        for (const auto& message : look().transcript.messages) texts.push_back(message->text);
        return texts;
    }

    std::shared_ptr<const Model> model_ = *open_chosen_model("");
    std::unique_ptr<StoreThread> store_ = std::make_unique<StoreThread>(StoreOptions{});
    bool loads_by_itself_ = true;
    std::function<std::vector<ModelPlace>()> other_places_;
    int64_t now_ms_ = 1'700'000'000'000;
    FakeEngine* engine_ = nullptr;
    std::shared_ptr<const ViewState> state_;
    std::unique_ptr<WindowClient> desktop_;
};

}  // namespace octavo::test
