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
    ModelList list;
    list.items = {{.path = "/models/a.gguf", .name = "a.gguf", .details = "qwen35moe, Q4_K_M", .bytes = 1 << 30}};
    list.refused = {{.path = "/models/b.gguf", .name = "b.gguf", .problem = "Its architecture is llama."}};
    driver_->state().model.list = std::make_shared<const ModelList>(list);
    driver_->frames();
    ASSERT_TRUE(driver_->click("a.gguf")) << driver_->seen();
    EXPECT_FALSE(driver_->click("b.gguf")) << "it is folded away";
    ASSERT_TRUE(driver_->click("##show-refused"));
    driver_->frames();
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
    driver_->state().model.folders = {{"/models", "", 1, ""}, {"/home/me/.ollama/models", "Ollama", 3, ""}};
    driver_->frames();
    ASSERT_TRUE(driver_->click("##remove-folder")) << driver_->seen();
    EXPECT_EQ(taken<action::RemoveModelFolder>().size(), 1u);
    ASSERT_TRUE(driver_->click("##add-folder")) << driver_->seen();
    EXPECT_EQ(taken<action::PickModelFolder>().size(), 1u);
}

TEST_F(ModelPanel, TheListIsSearchedByNameAndDetails) {
    show(SidePanel::model);
    ModelList list;
    for (int i = 0; i < 100; ++i)
        list.items.push_back(
            {.path = "/m/" + std::to_string(i), .name = "Model-" + std::to_string(i), .details = "Q8_0"});
    list.items.push_back({.path = "/m/wanted", .name = "Wanted-35B", .details = "qwen35moe, Q4_K_M, LM Studio"});
    driver_->state().model.list = std::make_shared<const ModelList>(list);
    driver_->frames();
    EXPECT_FALSE(driver_->click("Wanted-35B")) << "far down";
    driver_->take_actions();
    ASSERT_TRUE(driver_->click("##model-search"));
    driver_->type("35b q4_k");
    driver_->frames();
    ASSERT_TRUE(driver_->click("Wanted-35B")) << driver_->seen();
    const auto loads = taken<action::LoadModel>();
    ASSERT_EQ(loads.size(), 1u);
    EXPECT_EQ(loads[0].path, "/m/wanted");
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

class RecallPanel : public SidePanelTest {
  protected:
    void open() {
        show(SidePanel::recall);
        RecallState& recall = driver_->state().recall;
        recall = {};
        recall.available = true;
        recall.settings = "q4_0, window 128, sinks 64";
        recall.lengths = {4096, 16384, 65536};
        driver_->frames();
        driver_->take_actions();
    }
    static std::shared_ptr<const RecallRunView> run(int64_t id) {
        auto run = std::make_shared<RecallRunView>();
        run->id = id;
        run->model = "Pocket";
        RecallSchemeView& scheme = run->schemes.emplace_back();
        scheme.name = "q4_0";
        for (const int depth : {10, 50, 90})
            scheme.cells.push_back({4096, depth, 8, depth == 50 ? 2 : 8, 0.1, 0.9, {}});
        scheme.cells[1].answers.push_back(
            {400, 412, "word codes", "bulk", "What is it?", "AMBER", "EMBER", "wrong", false});
        return run;
    }
};

TEST_F(RecallPanel, RunsTheLengthsThatAreChosen) {
    open();
    ASSERT_TRUE(driver_->click("##length-16384")) << driver_->seen();
    ASSERT_TRUE(driver_->click("80##questions")) << driver_->seen();
    ASSERT_TRUE(driver_->click("##reference")) << driver_->seen();
    ASSERT_TRUE(driver_->click("Run the check##recall")) << driver_->seen();
    const auto started = taken<action::StartRecall>();
    ASSERT_EQ(started.size(), 1u);
    EXPECT_EQ(started[0].lengths, std::vector<int64_t>{4096});  // a first look leaves the longest out
    EXPECT_EQ(started[0].questions, 80);
    EXPECT_FALSE(started[0].with_reference);
}

TEST_F(RecallPanel, CanBeStoppedOnce) {
    open();
    driver_->state().recall.running = true;
    driver_->state().recall.total = 100;
    driver_->state().recall.done = 30;
    driver_->state().recall.seconds_left = 95;
    driver_->frames();
    EXPECT_EQ(driver_->find("Run the check##recall"), nullptr);
    ASSERT_TRUE(driver_->click("##stop-recall")) << driver_->seen();
    driver_->state().recall.stopping = true;
    driver_->frames();
    driver_->click("##stop-recall");
    EXPECT_EQ(taken<action::StopRecall>().size(), 1u);
}

TEST_F(RecallPanel, ASquareShowsItsQuestions) {
    open();
    driver_->state().recall.shown = run(3);
    driver_->frames();
    const SeenItem* export_button = driver_->find("JSON##export-recall");
    ASSERT_NE(export_button, nullptr) << driver_->seen();
    const float before = export_button->min.y;
    ASSERT_TRUE(driver_->click("##cell-4096-50")) << driver_->seen();
    driver_->frames();
    EXPECT_GT(driver_->find("JSON##export-recall")->min.y, before + 40);
    ASSERT_TRUE(driver_->click("##cell-4096-50")) << driver_->seen();
    driver_->frames();
    EXPECT_EQ(driver_->find("JSON##export-recall")->min.y, before);
}

TEST_F(RecallPanel, KeptRunsAreExportedDeletedAndOpened) {
    open();
    driver_->state().recall.shown = run(3);
    driver_->state().recall.history = {{3, "q4_0, 4K", "14:02"}, {2, "f16, 4K", "13:10"}};
    driver_->frames();
    ASSERT_TRUE(driver_->click("CSV##export-recall")) << driver_->seen();
    ASSERT_TRUE(driver_->click("##run-2")) << driver_->seen();
    ASSERT_TRUE(driver_->click("Delete##recall")) << driver_->seen();
    const Actions actions = driver_->take_actions();
    ASSERT_EQ(actions.size(), 3u);
    EXPECT_EQ(std::get<action::ExportRecallRun>(actions[0]).format, action::RecallExportFormat::csv);
    EXPECT_EQ(std::get<action::OpenRecallRun>(actions[1]).id, 2);
    EXPECT_EQ(std::get<action::DeleteRecallRun>(actions[2]).id, 3);
}

TEST_F(RecallPanel, ARunThatIsNotKeptYetHasNoExport) {
    open();
    driver_->state().recall.shown = run(0);
    driver_->frames();
    EXPECT_NE(driver_->find("##cell-4096-10"), nullptr) << driver_->seen();
    EXPECT_EQ(driver_->find("JSON##export-recall"), nullptr);
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
