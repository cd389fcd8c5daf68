// The Model and Sampling panels and the file browser, driven by name.
#include <gtest/gtest.h>

#include "ui/testing/driver.h"
#include "ui/testing/sample_states.h"

namespace octavo {
namespace {

class SidePanelTest : public testing::Test {
  protected:
    void show(SidePanel panel) {
        WindowLayout layout;
        layout.height = 1600;  // everything on the screen
        layout.panel = panel;
        driver_ = std::make_unique<UiDriver>(layout, *sample_state("chat"));
        driver_->frames();
        driver_->take_actions();
    }
    template <class Wanted>
    std::vector<Wanted> taken() {
        std::vector<Wanted> found;
        for (const Action& action : driver_->take_actions())
            if (const auto* wanted = std::get_if<Wanted>(&action)) found.push_back(*wanted);
        return found;
    }
    std::unique_ptr<UiDriver> driver_;
};

using ModelPanel = SidePanelTest;

TEST_F(ModelPanel, OpensAndLoads) {
    show(SidePanel::model);
    ASSERT_TRUE(driver_->click("##pick")) << driver_->seen();
    EXPECT_EQ(taken<action::PickModel>().size(), 1u);
    driver_->state().model.recent = {{"/models/a.gguf", "a.gguf", "35 B parameters", 1 << 30, ""},
                                     {"/models/b.gguf", "b.gguf", "", 0, "b.gguf: its weights are Q4_K."}};
    driver_->frames();
    ASSERT_TRUE(driver_->click("a.gguf")) << driver_->seen();
    driver_->click("b.gguf");
    const auto loads = taken<action::LoadModel>();
    ASSERT_EQ(loads.size(), 1u);
    EXPECT_EQ(loads[0].path, "/models/a.gguf");
}

TEST_F(ModelPanel, ALoadCanBeCancelledOnce) {
    show(SidePanel::model);
    driver_->state().model.loading = ModelState::Loading{"a.gguf", 30, 100, false};
    driver_->frames();
    ASSERT_TRUE(driver_->click("##cancel-load")) << driver_->seen();
    driver_->state().model.loading->cancelling = true;
    driver_->frames();
    driver_->click("##cancel-load");
    EXPECT_EQ(taken<action::CancelLoad>().size(), 1u);
}

TEST_F(ModelPanel, ADeviceThatIsNotThereCannotBeChosen) {
    show(SidePanel::model);
    driver_->click("##device-cuda");
    EXPECT_TRUE(taken<action::SetDevice>().empty());
    ASSERT_TRUE(driver_->click("##device-cpu")) << driver_->seen();
    EXPECT_EQ(taken<action::SetDevice>().size(), 1u);
}

TEST_F(ModelPanel, FoldersAreAddedAndRemoved) {
    show(SidePanel::model);
    driver_->state().model.folders = {{"/models", {{"/models/c.gguf", "c.gguf", "", 0, ""}}, false, ""}};
    driver_->frames();
    ASSERT_TRUE(driver_->click("##remove-folder")) << driver_->seen();
    EXPECT_EQ(taken<action::RemoveModelFolder>().size(), 1u);
    ASSERT_TRUE(driver_->click("##add-folder")) << driver_->seen();
    EXPECT_EQ(taken<action::PickModelFolder>().size(), 1u);
}

using SamplingPanel = SidePanelTest;

TEST_F(SamplingPanel, APresetSetsWhatItSays) {
    show(SidePanel::sampling);
    SamplerOptions exact;
    exact.temperature = 0;
    driver_->state().sampling.presets = {{"Exact", "always the most probable token", exact}};
    driver_->state().sampling.applied.sampler.seed = 5;
    driver_->state().sampling.revision = 2;
    driver_->frames();
    ASSERT_TRUE(driver_->click("Exact##preset")) << driver_->seen();
    const auto set = taken<action::SetSampling>();
    ASSERT_EQ(set.size(), 1u);
    EXPECT_EQ(set[0].choice.sampler.temperature, 0);
    EXPECT_EQ(set[0].choice.sampler.seed, 5u);
}

TEST_F(SamplingPanel, ASystemPromptIsTakenWhenItIsLeft) {
    show(SidePanel::sampling);
    ASSERT_TRUE(driver_->click("##system-prompt")) << driver_->seen();
    driver_->type("Be brief.");
    EXPECT_TRUE(taken<action::SetSampling>().empty());
    driver_->click("##seed");
    driver_->frames();
    const auto set = taken<action::SetSampling>();
    ASSERT_EQ(set.size(), 1u);
    EXPECT_EQ(set[0].choice.system_prompt, "Be brief.");
}

TEST_F(SamplingPanel, ASeedIsANumber) {
    show(SidePanel::sampling);
    const auto type_seed = [&](const char* text) {
        driver_->click("##seed");
        driver_->press(ImGuiMod_Ctrl | ImGuiKey_A);
        driver_->type(text);
        driver_->press(ImGuiKey_Enter);
        driver_->frames();
        return taken<action::SetSampling>();
    };
    EXPECT_TRUE(type_seed("twelve").empty());
    const auto set = type_seed("12");
    ASSERT_FALSE(set.empty());
    EXPECT_EQ(set.back().choice.sampler.seed, 12u);
}

TEST_F(SamplingPanel, ASliderIsTakenWhenItIsLetGo) {
    show(SidePanel::sampling);
    const SeenItem* item = driver_->find("##temperature");
    ASSERT_NE(item, nullptr) << driver_->seen();
    const float y = (item->min.y + item->max.y) / 2;
    driver_->drag({item->min.x + 20, y}, {item->max.x - 2, y});
    driver_->frames();
    const auto set = taken<action::SetSampling>();
    ASSERT_EQ(set.size(), 1u);
    EXPECT_GT(set[0].choice.sampler.temperature, 1.5f);
}

class FileBrowserTest : public SidePanelTest {
  protected:
    void open(FilePurpose purpose) {
        show(SidePanel::model);
        FileBrowserState& browser = driver_->state().file_browser;
        browser.purpose = purpose;
        browser.title = "Attach a text file, whole";
        browser.folder = "/home/orla";
        browser.places = {"/home/orla", "/"};
        browser.items = {{"books", true, 0}, {"harbour.txt", false, 84211}, {"灯塔.txt", false, 12}};
        driver_->frames();
    }
};

TEST_F(FileBrowserTest, AFileIsMarkedAndChosen) {
    open(FilePurpose::attach_text);
    driver_->click("##choose");
    EXPECT_TRUE(taken<action::ChooseFile>().empty());  // nothing is marked yet
    ASSERT_TRUE(driver_->click("harbour.txt")) << driver_->seen();
    ASSERT_TRUE(driver_->click("##choose")) << driver_->seen();
    const auto chosen = taken<action::ChooseFile>();
    ASSERT_EQ(chosen.size(), 1u);
    EXPECT_EQ(chosen[0].path, "/home/orla/harbour.txt");
    EXPECT_EQ(chosen[0].purpose, FilePurpose::attach_text);
}

TEST_F(FileBrowserTest, FoldersAreEntered) {
    open(FilePurpose::attach_text);
    ASSERT_TRUE(driver_->click("books")) << driver_->seen();
    ASSERT_TRUE(driver_->click("##up")) << driver_->seen();
    const auto folders = taken<action::OpenFolder>();
    ASSERT_EQ(folders.size(), 2u);
    EXPECT_EQ(folders[0].folder, "/home/orla/books");
    EXPECT_EQ(folders[1].folder, "/home");
}

TEST_F(FileBrowserTest, ATypedFileIsTaken) {
    open(FilePurpose::attach_text);
    driver_->click("##path");
    driver_->press(ImGuiKey_End);
    driver_->type("/harbour.txt");
    driver_->press(ImGuiKey_Enter);
    driver_->frames();
    const auto chosen = taken<action::ChooseFile>();
    ASSERT_EQ(chosen.size(), 1u);
    EXPECT_EQ(chosen[0].path, "/home/orla/harbour.txt");
}

TEST_F(FileBrowserTest, AFolderCanBeAModel) {
    open(FilePurpose::open_model);
    ASSERT_TRUE(driver_->click("##choose")) << driver_->seen();
    const auto chosen = taken<action::ChooseFile>();
    ASSERT_EQ(chosen.size(), 1u);
    EXPECT_EQ(chosen[0].path, "/home/orla");
}

TEST_F(FileBrowserTest, AnExportHasANameToTypeOver) {
    show(SidePanel::model);
    FileBrowserState& browser = driver_->state().file_browser;
    browser.purpose = FilePurpose::export_conversation;
    browser.folder = "/home/orla";
    browser.file_name = "harbour.md";
    driver_->frames();
    ASSERT_TRUE(driver_->click("##choose")) << driver_->seen();
    const auto chosen = taken<action::ChooseFile>();
    ASSERT_EQ(chosen.size(), 1u);
    EXPECT_EQ(chosen[0].path, "/home/orla/harbour.md");
}

TEST_F(FileBrowserTest, ClosesWhenItsPurposeIsGone) {
    open(FilePurpose::attach_text);
    ASSERT_TRUE(driver_->click("Cancel##file-browser")) << driver_->seen();
    EXPECT_EQ(taken<action::CloseFileBrowser>().size(), 1u);
    driver_->state().file_browser = {};
    driver_->frames();
    EXPECT_TRUE(driver_->click("New chat")) << driver_->seen();
    driver_->frames();
    EXPECT_EQ(taken<action::NewConversation>().size(), 1u);  // nothing lies over it any more
}

}  // namespace
}  // namespace octavo
