// Every sample state of the window, drawn in every size, scale and theme: nothing crashes and Dear ImGui has no
// complaint.
#include <gtest/gtest.h>

#include "ui/testing/driver.h"
#include "ui/testing/sample_states.h"

namespace octavo {
namespace {

ViewState sample(std::string_view name) {
    Result<ViewState> state = sample_state(name);
    EXPECT_TRUE(state) << name;
    return state ? *std::move(state) : ViewState{};
}

WindowLayout layout(int width, int height, float scale, ThemeChoice theme) {
    WindowLayout result;
    result.width = width;
    result.height = height;
    result.scale = scale;
    result.theme = theme;
    return result;
}

TEST(WindowStates, DrawInEverySize) {
    const WindowLayout layouts[] = {layout(640, 480, 1, ThemeChoice::dark), layout(1280, 800, 1, ThemeChoice::light),
                                    layout(2560, 1440, 2, ThemeChoice::dark), layout(640, 480, 3, ThemeChoice::light),
                                    layout(1280, 800, 0.5f, ThemeChoice::dark)};
    for (const std::string_view name : sample_state_names())
        for (const WindowLayout& each : layouts) {
            if (name == "long" && each.scale > 1) continue;  // once is enough for so much text
            UiDriver driver(each, sample(name));
            for (int panel = 0; panel < side_panel_count; ++panel) {
                driver.window().interface().layout().panel = static_cast<SidePanel>(panel);
                driver.frames(2);
            }
            EXPECT_EQ(driver.misuses(), 0) << name << " " << each.width << "x" << each.height << " at " << each.scale;
            EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 0) << name;
        }
}

TEST(WindowStates, ANoticeIsWholeWithoutAnotherInput) {
    UiDriver driver(WindowLayout{}, sample("chat"));
    Notice notice;
    for (int i = 0; i < 30; ++i) notice.text += "several lines ";
    driver.state().notices = {notice};
    int frames = 0;
    do driver.window().frame(driver.state());
    while (driver.window().next_frame_in() == 0 && ++frames < 10);
    EXPECT_LT(frames, 10);  // it comes to rest
    const Image shown = driver.window().picture();
    driver.frames();
    EXPECT_TRUE(shown.pixels == driver.window().picture().pixels);
}

TEST(WindowStates, ButtonsAreFoundByName) {
    UiDriver driver(WindowLayout{}, sample("chat"));
    ASSERT_TRUE(driver.click("New chat")) << driver.seen();
    const Actions actions = driver.take_actions();
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<action::NewConversation>(actions[0]));
    EXPECT_FALSE(driver.click("no such button"));
}

}  // namespace
}  // namespace octavo
