// The list of models in the Model tab: found on a thread of its own, the last used first, remembered folders.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/app/desktop_fixture.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class DesktopModels : public test::DesktopFixture {
  protected:
    void add_model(const fs::path& file) {
        fs::create_directories(file.parent_path());
        fs::copy_file(test::fixture_path("malformed/micro-qwen35moe.gguf"), file);
    }
    std::vector<std::string> listed() {
        std::vector<std::string> names;
        for (const ModelFileItem& item : look().model.list->items) names.push_back(item.name);
        return names;
    }
    void until_found() {
        until([&] { return !look().model.searching; });
    }

    const TemporaryFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(DesktopModels, NoTwoPresetsAreTheSame) {
    start_with_model();
    until([&] { return !look().sampling.presets.empty(); });
    Names texts;
    for (const SamplingPreset& preset : look().sampling.presets) texts.push_back(preset.text);
    std::sort(texts.begin(), texts.end());
    EXPECT_GE(texts.size(), 3u);
    EXPECT_EQ(std::adjacent_find(texts.begin(), texts.end()), texts.end()) << "the bundled model is exact by itself";
}

TEST_F(DesktopModels, FoldersAndOtherProgramsAreSearchedAndRemembered) {
    add_model(folder_ / "own/a.gguf");
    add_model(folder_ / "theirs/b.gguf");
    std::ofstream(folder_ / "theirs/c.gguf.part") << "x";
    other_places_ = [this] { return std::vector<ModelPlace>{{"Theirs", PlaceLayout::folder, folder_ / "theirs"}}; };
    start_with_model();
    until_found();
    EXPECT_EQ(listed(), Names{"b"});
    ASSERT_EQ(look().model.list->refused.size(), 1u);
    EXPECT_EQ(look().model.list->refused[0].problem, "The download is not finished.");
    ASSERT_EQ(look().model.folders.size(), 1u);
    EXPECT_EQ(look().model.folders[0].source, "Theirs");

    act(action::ChooseFile{FilePurpose::add_model_folder, (folder_ / "own").string()});
    until_found();
    EXPECT_EQ(listed(), (Names{"a", "b"}));
    restart();
    until_found();
    EXPECT_EQ(listed(), (Names{"a", "b"}));
    act(action::RemoveModelFolder{(folder_ / "own").string()});
    EXPECT_EQ(look().model.folders.size(), 1u);
    until_found();
    EXPECT_EQ(listed(), Names{"b"});
}

TEST_F(DesktopModels, TheLastUsedComeFirstWhereverTheyLie) {
    add_model(folder_ / "place/a.gguf");
    add_model(folder_ / "place/b.gguf");
    add_model(folder_ / "elsewhere/z.gguf");
    other_places_ = [this] { return std::vector<ModelPlace>{{"Place", PlaceLayout::folder, folder_ / "place"}}; };
    start_with_model();
    until_found();
    EXPECT_EQ(listed(), (Names{"a", "b"}));
    act(action::LoadModel{(folder_ / "place/b.gguf").string()});
    until([&] { return listed() == (Names{"b", "a"}); });
    act(action::LoadModel{(folder_ / "elsewhere/z.gguf").string()});
    until([&] { return listed() == (Names{"z", "b", "a"}); });
    restart();
    until([&] { return listed() == (Names{"z", "b", "a"}); });
}

TEST_F(DesktopModels, ClosingDoesNotWaitForASearch) {
    other_places_ = [this] { return std::vector<ModelPlace>{{"Place", PlaceLayout::folder, folder_.path()}}; };
    for (int i = 0; i < 200; ++i) add_model(folder_ / (std::to_string(i) + ".gguf"));
    for (int i = 0; i < 5; ++i) start();
}

}  // namespace
}  // namespace octavo
