// Models found where programs keep them: layouts, split models, downloads that go on, what cannot be run; and nothing
// hostile makes the search hang.
#include "app/library/library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/size_text.h"
#include "models/gguf/shard_name.h"
#include "models/random/random_file.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

void write_bytes(const fs::path& file, std::span<const std::byte> bytes) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}
void write_text(const fs::path& file, std::string_view text) {
    write_bytes(file, std::as_bytes(std::span(text.data(), text.size())));
}

// A small model that can be run.
std::vector<std::byte> model_bytes() {
    static const std::vector<std::byte> bytes = *test::read_file(test::fixture_path("malformed/micro-qwen35moe.gguf"));
    return bytes;
}
void write_model(const fs::path& file) { write_bytes(file, model_bytes()); }

std::vector<std::byte> other_file(const std::string& architecture, const std::string& type = "model") {
    test::GgufWriter writer;
    writer.text("general.architecture", architecture);
    writer.text("general.type", type);
    writer.floats("v.patch_embd.weight", {8});
    return writer.finish();
}

ModelLibrary read(const fs::path& folder, const SearchLimits& limits = {}) {
    const Job job;
    return read_library({place_of_folder(folder)}, limits, job);
}

std::vector<std::string> names(const ModelLibrary& library) {
    std::vector<std::string> names;
    for (const LibraryModel& model : library.models) names.push_back(model.name);
    return names;
}

using Names = std::vector<std::string>;

TEST(Library, ReadsFactsOfAModel) {
    const TemporaryFolder folder;
    write_model(folder / "unsloth/Some-GGUF/Some-Q8_0.gguf");
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(names(library), Names{"Some-Q8_0"});
    const LibraryModel& model = library.models[0];
    EXPECT_EQ(model.verdict, ModelVerdict::usable) << model.problem;
    EXPECT_EQ(model.architecture, "qwen35moe");
    EXPECT_EQ(model.group, "unsloth/Some-GGUF");
    EXPECT_EQ(model.bytes, static_cast<int64_t>(model_bytes().size()));
    EXPECT_GT(model.parameters, 0);
    EXPECT_GT(model.context_tokens, 0);
    EXPECT_GT(model.needed_bytes, model.bytes / 2);
    EXPECT_EQ(library.places[0].models, 1);
    EXPECT_EQ(library.places[0].error, "");
}

TEST(Library, SaysWhatCannotBeRunBeforeItIsLoaded) {
    const TemporaryFolder folder;
    write_bytes(folder / "a-llama.gguf", other_file("llama"));
    write_bytes(folder / "b-lora.gguf", other_file("qwen35moe", "adapter"));
    write_text(folder / "c-broken.gguf", "GGUF and nothing sensible");
    write_text(folder / "d-empty.gguf", "");
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(library.models.size(), 4u);
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::unsupported);
    EXPECT_NE(library.models[0].problem.find("its architecture is llama"), std::string::npos);
    EXPECT_EQ(library.models[1].verdict, ModelVerdict::unsupported);
    EXPECT_NE(library.models[1].problem.find("LoRA"), std::string::npos);
    EXPECT_EQ(library.models[2].verdict, ModelVerdict::broken);
    EXPECT_EQ(library.models[3].verdict, ModelVerdict::broken);
}

TEST(Library, VisionPartsAreNotOfferedButTold) {
    const TemporaryFolder folder;
    write_model(folder / "m/model.gguf");
    write_bytes(folder / "m/mmproj-F16.gguf", other_file("clip"));
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(names(library), Names{"model"});
    ASSERT_EQ(library.models[0].notes.size(), 1u);
    EXPECT_NE(library.models[0].notes[0].find("mmproj-F16.gguf"), std::string::npos);
}

TEST(Library, DraftBlocksAreTold) {
    const TemporaryFolder folder;
    RandomFileRequest request;
    request.shape = find_model_shape("tiny");
    request.types = *parse_type_mix("f16");
    request.changes = {.layers = 4, .experts = 2, .draft = true};
    Job job;
    ASSERT_TRUE(write_random_model(request, folder / "drafts.gguf", job));
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(library.models.size(), 1u);
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::usable) << library.models[0].problem;
    ASSERT_EQ(library.models[0].notes.size(), 1u);
    EXPECT_NE(library.models[0].notes[0].find("draft (MTP) block"), std::string::npos);
}

TEST(Library, PartsOfASplitModelAreOne) {
    const Result<fs::path> shard = test::shared_path("fixtures/checkpoints/qwen35moe-q8_0-split-00001-of-00003.gguf");
    if (!shard) GTEST_SKIP() << shard.error().message;
    const TemporaryFolder folder;
    const ShardName name = *parse_shard_name(shard->filename().string());
    for (int part = 1; part <= 3; ++part)
        fs::copy_file(shard->parent_path() / name.file(part), folder / name.file(part));
    ModelLibrary library = read(folder.path());
    ASSERT_EQ(names(library), Names{"qwen35moe-q8_0-split"});
    EXPECT_EQ(library.models[0].files, 3);
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::usable) << library.models[0].problem;

    fs::remove(folder / name.file(2));
    library = read(folder.path());
    ASSERT_EQ(library.models.size(), 1u);
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::incomplete);
    EXPECT_NE(library.models[0].problem.find("Part 2 of 3 is missing"), std::string::npos) << library.models[0].problem;

    write_text(folder / (name.file(2) + ".part"), "some");
    library = read(folder.path());
    ASSERT_EQ(library.models.size(), 1u);
    EXPECT_NE(library.models[0].problem.find("part 2 of 3 is on its way"), std::string::npos);
}

TEST(Library, DownloadsThatGoOnAreTold) {
    const TemporaryFolder folder;
    const std::vector<std::byte> whole = model_bytes();
    write_bytes(folder / "a-short.gguf", std::span(whole).first(whole.size() - 100));
    write_text(folder / "b.gguf.part", "x");
    write_text(folder / "downloading_c.gguf.downloading", "x");
    write_model(folder / "d-preallocated.gguf");
    write_text(folder / "d-preallocated.gguf.aria2", "x");
    const ModelLibrary library = read(folder.path());
    EXPECT_EQ(names(library), (Names{"a-short", "b", "d-preallocated", "downloading_c"}));
    for (const LibraryModel& model : library.models) EXPECT_EQ(model.verdict, ModelVerdict::incomplete) << model.name;
    EXPECT_NE(library.models[0].problem.find("cut off"), std::string::npos) << library.models[0].problem;
    EXPECT_EQ(library.models[1].path, "");
    EXPECT_EQ(library.models[1].location, (folder / "b.gguf.part").string());
    EXPECT_EQ(library.models[3].location, (folder / "downloading_c.gguf.downloading").string());
}

TEST(Library, WhatIsMissingIsAlwaysSeenInTheFigures) {
    const TemporaryFolder folder;
    const std::vector<std::byte> whole = model_bytes();
    write_bytes(folder / "a.gguf", std::span(whole).first(whole.size() - 1));
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(library.models.size(), 1u);
    const std::string figures = group_digits(static_cast<int64_t>(whole.size()) - 1) + " of " +
                                group_digits(static_cast<int64_t>(whole.size())) + " bytes";
    EXPECT_NE(library.models[0].problem.find(figures), std::string::npos) << library.models[0].problem;
}

TEST(Library, TensorsBeyondAnyFileAreNoDownload) {
    const Result<fs::path> broken = test::shared_path("fixtures/malformed/offset-into-metadata.gguf");
    if (!broken) GTEST_SKIP() << broken.error().message;
    const TemporaryFolder folder;
    fs::copy_file(*broken, folder / "a.gguf");
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(library.models.size(), 1u);
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::broken) << library.models[0].problem;
}

TEST(Library, NamesOfPartsDoNotMakeAWholeFileUnfinished) {
    const TemporaryFolder folder;
    write_model(folder / "a-00001-of-00003.gguf");
    write_model(folder / "b-00001-of-99999.gguf");
    for (const LibraryModel& model : read(folder.path()).models)
        EXPECT_EQ(model.verdict, ModelVerdict::usable) << model.name << ": " << model.problem;
}

TEST(Library, ALaterPartUnderAnotherNameIsTold) {
    const Result<fs::path> shard = test::shared_path("fixtures/checkpoints/qwen35moe-q8_0-split-00002-of-00003.gguf");
    if (!shard) GTEST_SKIP() << shard.error().message;
    const TemporaryFolder folder;
    fs::copy_file(*shard, folder / "renamed.gguf");
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(library.models.size(), 1u);
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::incomplete);
    EXPECT_NE(library.models[0].problem.find("part 2 of 3"), std::string::npos) << library.models[0].problem;
}

TEST(Library, HubCachesNameRepositoriesAndListSharedFilesOnce) {
    const TemporaryFolder folder;
    const fs::path repository = folder / "models--org--Some-Model-GGUF";
    write_model(repository / "blobs/0123abc");
    for (const char* revision : {"aaaa", "bbbb"}) {
        fs::create_directories(repository / "snapshots" / revision);
        fs::create_symlink("../../blobs/0123abc", repository / "snapshots" / revision / "Some-Q4_K_M.gguf");
    }
    write_text(folder / "models--org--Arriving/blobs/ffff.incomplete", "x");
    write_text(folder / "models--org--Image-Model/snapshots/cccc/config.json", R"({"model_type": "vit"})");
    write_text(folder / "models--org--Image-Model/snapshots/cccc/model.safetensors", "x");
    const ModelLibrary library = read(folder.path());
    EXPECT_EQ(library.places[0].place.layout, PlaceLayout::hub_cache);
    ASSERT_EQ(names(library), (Names{"Arriving", "Image-Model", "Some-Q4_K_M"}));
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::incomplete);
    EXPECT_EQ(library.models[1].verdict, ModelVerdict::unsupported);
    EXPECT_EQ(library.models[2].group, "org/Some-Model-GGUF");
    EXPECT_EQ(library.models[2].verdict, ModelVerdict::usable) << library.models[2].problem;
}

TEST(Library, FoldersOfSafetensorsAreLookedThroughForWhatIsMissing) {
    const auto source = test::shared_path("fixtures/checkpoints/hf-qwen35moe");
    if (!source) GTEST_SKIP() << source.error().message;
    const TemporaryFolder folder;
    for (const char* name : {"cut", "index", "pointer", "shard", "whole"}) {
        fs::create_directories(folder / name);
        for (const char* file : {"config.json", "model.safetensors"})
            fs::copy_file(*source / file, folder / name / file);
    }
    fs::resize_file(folder / "cut/model.safetensors", fs::file_size(folder / "cut/model.safetensors") - 1);
    fs::rename(folder / "index/model.safetensors", folder / "index/model-00001-of-00002.safetensors");
    write_text(folder / "pointer/model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    write_text(folder / "shard/model.safetensors.index.json",
               R"({"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}})");
    const ModelLibrary library = read(folder.path());
    ASSERT_EQ(names(library), (Names{"cut", "index", "pointer", "shard", "whole"}));
    const std::pair<ModelVerdict, const char*> want[] = {
        {ModelVerdict::broken, "model.safetensors: tensor "},
        {ModelVerdict::broken, "neither model.safetensors nor model.safetensors.index.json"},
        {ModelVerdict::broken, "it is a Git LFS pointer"},
        {ModelVerdict::incomplete, "Its file model-2.safetensors is missing"},
        {ModelVerdict::usable, ""}};
    for (size_t i = 0; i < std::size(want); ++i) {
        const LibraryModel& model = library.models[i];
        EXPECT_EQ(model.verdict, want[i].first) << model.name;
        EXPECT_NE(model.problem.find(want[i].second), std::string::npos) << model.name << ": " << model.problem;
    }
}

TEST(Library, OllamaManifestsLeadToBlobsAndNowhereElse) {
    const TemporaryFolder folder;
    const std::string hex(64, 'a');
    const auto manifest = [](const std::string& digest) {
        return R"({"layers": [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00"},
                   {"mediaType": "application/vnd.ollama.image.model", "digest": ")" +
               digest + R"("}]})";
    };
    write_model(folder / ("blobs/sha256-" + hex));
    write_model(folder / "secret.gguf");
    const fs::path names_folder = folder / "manifests/registry.ollama.ai/library/qwen3.6";
    write_text(names_folder / "35b", manifest("sha256:" + hex));
    write_text(names_folder / "away", manifest("sha256:../../secret.gguf"));
    write_text(names_folder / "gone", manifest("sha256:" + std::string(64, 'b')));
    write_text(names_folder / "junk", "{[");
    write_text(names_folder / "list", R"([1, {"layers": 3}])");
    const ModelLibrary library = read(folder.path());
    EXPECT_EQ(library.places[0].place.layout, PlaceLayout::ollama);
    ASSERT_EQ(names(library), (Names{"qwen3.6:35b", "qwen3.6:away", "qwen3.6:gone"}));
    EXPECT_EQ(library.models[0].verdict, ModelVerdict::usable) << library.models[0].problem;
    EXPECT_EQ(fs::path(library.models[0].path).filename(), "sha256-" + hex);
    EXPECT_EQ(library.models[1].verdict, ModelVerdict::incomplete);
    EXPECT_NE(library.models[1].problem.find("SHA-256"), std::string::npos) << library.models[1].problem;
    EXPECT_EQ(library.models[1].path, "");
    EXPECT_EQ(library.models[1].location, (names_folder / "away").string());
    EXPECT_EQ(library.models[2].verdict, ModelVerdict::incomplete);
}

TEST(Library, AnOllamaStoreWithoutModelsIsNoTrouble) {
    const TemporaryFolder folder;
    const Job job;
    const ModelLibrary library = read_library({{"Ollama", PlaceLayout::ollama, folder.path()}}, {}, job);
    EXPECT_TRUE(library.models.empty());
    EXPECT_EQ(library.places[0].error, "");
}

TEST(Library, LoopsEndAndFoldersAreSeenOnce) {
    const TemporaryFolder folder;
    write_model(folder / "real/model.gguf");
    fs::create_directory_symlink("..", folder / "real/up");
    fs::create_directory_symlink(folder.path(), folder / "self");
    fs::create_symlink("nowhere.gguf", folder / "dangling.gguf");
    fs::create_symlink("loop.gguf", folder / "loop.gguf");
    EXPECT_EQ(names(read(folder.path())), Names{"model"});
}

TEST(Library, LinksToFoldersAboveThePlaceAreNotFollowed) {
    const TemporaryFolder folder;
    write_model(folder / "place/below/model.gguf");
    write_model(folder / "private/secret.gguf");
    write_model(folder / "other disk/far.gguf");
    fs::create_directory_symlink(folder / "other disk", folder / "place/disk");
    fs::create_directory_symlink(folder.path(), folder / "place/up");
    fs::create_directory_symlink("/", folder / "place/below/everything");
    SearchLimits limits;
    limits.entries = 20;
    const ModelLibrary library = read(folder / "place", limits);
    EXPECT_EQ(names(library), (Names{"far", "model"}));
    EXPECT_EQ(library.places[0].error, "");
}

TEST(Library, SearchesAreBounded) {
    const TemporaryFolder folder;
    for (int i = 0; i < 20; ++i) write_model(folder / ("model" + std::to_string(i) + ".gguf"));
    SearchLimits limits;
    limits.models = 5;
    ModelLibrary library = read(folder.path(), limits);
    EXPECT_EQ(library.models.size(), 5u);
    EXPECT_NE(library.places[0].error.find("Only 5 models"), std::string::npos);
    limits = {};
    limits.entries = 10;
    library = read(folder.path(), limits);
    EXPECT_LE(library.models.size(), 10u);
    EXPECT_NE(library.places[0].error.find("Only 10 files"), std::string::npos);
    limits = {};
    limits.time = std::chrono::milliseconds(0);
    EXPECT_NE(read(folder.path(), limits).places[0].error, "");
    fs::path deep = folder.path();
    for (int i = 0; i < 12; ++i) deep /= "d";
    write_model(deep / "deep.gguf");
    EXPECT_EQ(names(read(folder.path())).size(), 20u);
}

TEST(Library, EveryMalformedFileIsDescribed) {
    const ModelLibrary library = read(test::fixture_path("malformed"));
    EXPECT_GT(library.models.size(), 50u);
    for (const LibraryModel& model : library.models) {
        EXPECT_EQ(model.problem.empty(), model.verdict == ModelVerdict::usable) << model.name;
        EXPECT_TRUE(model.problem.empty() || model.problem.ends_with('.')) << model.name << ": " << model.problem;
        EXPECT_FALSE(model.name == "block-count-3" && model.verdict == ModelVerdict::usable);
    }
}

TEST(Library, OtherProgramsFoldersComeFromTheEnvironment) {
    const TemporaryFolder folder;
    for (const char* below : {".lmstudio/models", ".cache/huggingface/hub", ".ollama/models", "elsewhere/hub"})
        fs::create_directories(folder / below);
    const Environment environment = [&](const char* variable) -> std::string {
        if (std::string_view(variable) == "HOME") return folder.path().string();
        if (std::string_view(variable) == "HF_HOME") return (folder / "elsewhere").string();
        if (std::string_view(variable) == "HF_HUB_CACHE") return (folder / "elsewhere/hub").string();
        if (std::string_view(variable) == "OLLAMA_MODELS") return "relative/is/ignored";
        return {};
    };
    std::vector<std::string> found;
    for (const ModelPlace& place : places_of_other_programs(environment))
        if (place.folder.string().starts_with(folder.path().string()))
            found.push_back(place.source + " " + place.folder.lexically_relative(folder.path()).string());
    EXPECT_EQ(found, (Names{"LM Studio .lmstudio/models", "Hugging Face elsewhere/hub",
                            "Hugging Face .cache/huggingface/hub", "Ollama .ollama/models"}));
}

TEST(Library, AnyPartDescribesTheWholeModel) {
    const Result<fs::path> shard = test::shared_path("fixtures/checkpoints/qwen35moe-q8_0-split-00002-of-00003.gguf");
    if (!shard) GTEST_SKIP() << shard.error().message;
    const LibraryModel model = describe_model(shard->string());
    EXPECT_EQ(model.files, 3);
    EXPECT_EQ(model.verdict, ModelVerdict::usable) << model.problem;
}

TEST(Library, MemoryFitsByTheMachine) {
    LibraryModel model;
    EXPECT_EQ(memory_fit(model, 100, 100), MemoryFit::unknown);
    model.needed_bytes = 50;
    EXPECT_EQ(memory_fit(model, 100, 60), MemoryFit::fits);
    EXPECT_EQ(memory_fit(model, 100, 40), MemoryFit::fits_when_free);
    EXPECT_EQ(memory_fit(model, 40, 30), MemoryFit::too_large);
    EXPECT_EQ(memory_fit(model, 0, 0), MemoryFit::unknown);
}

TEST(ShardName, IsParsedStrictly) {
    const auto shard = parse_shard_name("a-b-00002-of-00010.gguf");
    ASSERT_TRUE(shard);
    EXPECT_EQ(shard->stem, "a-b");
    EXPECT_EQ(shard->number, 2);
    EXPECT_EQ(shard->count, 10);
    EXPECT_EQ(shard->file(10), "a-b-00010-of-00010.gguf");
    for (const char* name : {"x.gguf", "-00001-of-00002.gguf", "x-00003-of-00002.gguf", "x-00000-of-00002.gguf",
                             "x-0000a-of-00002.gguf", "x-00001-of-00002.txt", "x-+0001-of-00002.gguf", ""})
        EXPECT_FALSE(parse_shard_name(name)) << name;
}

}  // namespace
}  // namespace octavo
