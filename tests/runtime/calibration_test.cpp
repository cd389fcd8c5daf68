#include "runtime/kv/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/kv/calibration_file.h"
#include "runtime/kv/calibration_text.h"
#include "runtime/session.h"
#include "tests/support/compare.h"
#include "tests/support/random_model.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test, removed afterwards.
class CalibrationTest : public testing::Test {
  protected:
    void SetUp() override {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::temp_directory_path() / (std::string("octavo-calibration-") + test->name());
        fs::remove_all(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    Calibration calibrated() {
        Job job;
        Result<Calibration> calibration = calibrate(*model_, *backend_, folder_, job);
        EXPECT_TRUE(calibration) << calibration.error().message;
        return calibration ? std::move(*calibration) : Calibration{};
    }
    fs::path file() const { return CalibrationFile(*model_, calibration_ids(*model_), folder_).path(); }
    static std::string text_of(const fs::path& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    fs::path folder_;
    std::shared_ptr<const Model> model_ = test::random_model(1, 256);
    std::unique_ptr<Backend> backend_ = make_cpu_backend(1, detect_cpu_isa());
};

TEST_F(CalibrationTest, TextIsLongAndAlwaysTheSame) {
    EXPECT_EQ(calibration_paragraph(3), calibration_paragraph(3));
    EXPECT_NE(calibration_paragraph(3), calibration_paragraph(4));
    for (int i = 0; i < 50; ++i) EXPECT_GT(calibration_paragraph(i).size(), 150u) << i;
    const auto long_model = test::random_model(1, 10000);
    const std::vector<int32_t> ids = calibration_ids(*long_model);
    EXPECT_EQ(std::ssize(ids), kCalibrationTokens);
    EXPECT_EQ(std::ssize(calibration_ids(*model_)), 256) << "at most the context";
    EXPECT_EQ(calibration_ids(*long_model), ids);

    auto without = std::make_shared<Model>(*model_);
    without->tokenizer = nullptr;
    const std::vector<int32_t> numbers = calibration_ids(*without);
    EXPECT_EQ(std::ssize(numbers), 256);
    EXPECT_TRUE(std::ranges::all_of(numbers, [&](int32_t id) { return id >= 0 && id < model_->config.vocab; }));
    EXPECT_NE(numbers[0], numbers[1]);
}

// Against the pools of an f32 cache, read here.
TEST_F(CalibrationTest, MeasuresKeysAndValues) {
    const std::vector<int32_t> ids = calibration_ids(*model_, 200);
    Job job;
    const Result<ChannelTable> rms = measure_channels(*model_, *backend_, ids, job);
    ASSERT_TRUE(rms) << rms.error().message;
    EXPECT_EQ(job.progress().done, 200);

    Result<Forward> forward = Forward::create(model_->config, model_->weights, *backend_, 256);
    ASSERT_TRUE(forward);
    SessionOptions options;
    options.kv.scheme = {KvFormat::f32, KvFormat::f32};
    options.prefill_chunk = 256;
    Result<std::unique_ptr<Session>> session = Session::create(model_->config, *forward, options);
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->prefill(ids, {}, job));
    ASSERT_EQ(rms->size(), 2u);
    for (int layer = 0; layer < 2; ++layer) {
        const KvView view = (*session)->cache().view(layer);
        const auto expect = [&](const KvSide& side, const std::vector<float>& got) {
            ASSERT_EQ(got.size(), 64u);
            const auto* rows = reinterpret_cast<const float*>(side.payload);
            std::vector<float> want(64);
            for (size_t c = 0; c < 64; ++c) {
                double sum = 0;
                for (size_t cell = 0; cell < 200; ++cell) sum += std::pow(double{rows[cell * 64 + c]}, 2);
                want[c] = static_cast<float>(std::sqrt(sum / 200));
            }
            EXPECT_TRUE(test::within(got, want, 1e-5, {{"channel", 64}})) << "layer " << layer;
        };
        expect(view.k, (*rms)[static_cast<size_t>(layer)].k);
        expect(view.v, (*rms)[static_cast<size_t>(layer)].v);
    }
}

TEST_F(CalibrationTest, CancelledAndEmptyAreErrors) {
    Job job;
    job.cancel();
    const Result<ChannelTable> cancelled = measure_channels(*model_, *backend_, calibration_ids(*model_), job);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
    Job other;
    EXPECT_FALSE(measure_channels(*model_, *backend_, {}, other));
}

TEST_F(CalibrationTest, KeepsWhatItMeasured) {
    const Calibration first = calibrated();
    ASSERT_EQ(first.notes.size(), 1u);
    EXPECT_NE(first.notes[0].find("Measured"), std::string::npos) << first.notes[0];
    ASSERT_TRUE(fs::exists(file()));
    const Calibration second = calibrated();
    EXPECT_TRUE(second.notes.empty());
    ASSERT_EQ(second.rms.size(), first.rms.size());
    for (size_t i = 0; i < first.rms.size(); ++i) {
        EXPECT_EQ(second.rms[i].k, first.rms[i].k);
        EXPECT_EQ(second.rms[i].v, first.rms[i].v);
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no half-written files are left";

    // Another model, the same model scaled, and another text have files of their own.
    const std::vector<int32_t> ids = calibration_ids(*model_);
    const auto other = test::random_model(2, 256);
    EXPECT_NE(CalibrationFile(*other, ids, folder_).path(), file());
    const auto scaled = equalise_free(model_);
    ASSERT_TRUE(scaled);
    EXPECT_NE(CalibrationFile(**scaled, ids, folder_).path(), file());
    EXPECT_NE(CalibrationFile(*model_, std::span(ids).first(100), folder_).path(), file());
}

TEST_F(CalibrationTest, NothingIsKeptWithoutAFolder) {
    folder_.clear();
    EXPECT_EQ(calibrated().notes.size(), 1u);
    EXPECT_EQ(calibrated().notes.size(), 1u);
    EXPECT_TRUE(file().empty());
}

TEST_F(CalibrationTest, DamagedFilesAreIgnoredWithAWord) {
    const Calibration good = calibrated();
    const std::string text = text_of(file());
    const auto replaced = [&](std::string_view what, std::string_view by) {
        std::string changed = text;
        const size_t at = changed.find(what);
        EXPECT_NE(at, std::string::npos) << what;
        return changed.replace(at, what.size(), by);
    };
    const size_t number = text.find("\"k\":[") + 5;
    const std::string_view first_number(text.data() + number, text.find(',', number) - number);
    const std::vector<std::string> bad = {
        "",
        "{",
        text.substr(0, text.size() / 2),
        "[]",
        "null",
        "{\"version\":1}",
        std::string(100000, '['),
        std::string(10'000'000, ' '),
        replaced("\"version\":1", "\"version\":2"),
        replaced("\"key\":\"", "\"key\":\"0"),
        replaced("\"layers\":[", "\"layers\":[1,"),
        replaced("\"layers\":[", "\"layers\":[{},"),
        replaced("\"k\":[", "\"k\":[1,"),
        replaced(first_number, "-1"),
        replaced(first_number, "1e300"),
        replaced(first_number, "1e999"),
        replaced(first_number, "null"),
        replaced(first_number, "\"1\""),
        replaced("\"v\":[", "\"w\":["),
    };
    for (const std::string& content : bad) {
        std::ofstream(file(), std::ios::binary) << content;
        const Calibration again = calibrated();
        const std::string shown = content.substr(0, 60);
        ASSERT_EQ(again.notes.size(), 2u) << shown;
        EXPECT_NE(again.notes[0].find("ignored and made again"), std::string::npos) << again.notes[0];
        EXPECT_EQ(again.rms[0].k, good.rms[0].k) << shown;
        EXPECT_EQ(text_of(file()), text) << "the file is good again: " << shown;
    }
}

TEST_F(CalibrationTest, AFolderThatCannotBeMadeIsNoError) {
    std::ofstream(folder_) << "a file, not a folder";
    const Calibration calibration = calibrated();
    EXPECT_FALSE(calibration.rms.empty());
    ASSERT_FALSE(calibration.notes.empty());
    EXPECT_NE(calibration.notes.back().find("could not be kept"), std::string::npos) << calibration.notes.back();

    fs::remove_all(folder_);
    fs::create_directories(file());  // a folder where the file should be
    const Calibration again = calibrated();
    EXPECT_EQ(again.notes.size(), 3u);
}

TEST_F(CalibrationTest, PreparesTheModelAsAsked) {
    Job job;
    const auto prepare = [&](const ChannelOptions& options) {
        return prepare_channels(model_, options, *backend_, job);
    };
    const Result<PreparedModel> off = prepare({});
    ASSERT_TRUE(off);
    EXPECT_EQ(off->model, model_) << "nothing to do";
    EXPECT_TRUE(off->notes.empty());
    const Result<PreparedModel> free = prepare({KvEqualise::free, 0, folder_});
    ASSERT_TRUE(free);
    EXPECT_TRUE(free->notes.empty()) << "needs no measurement";
    const Result<PreparedModel> calibrated = prepare({KvEqualise::calibrated, 0, folder_});
    ASSERT_TRUE(calibrated);
    const Result<ChannelTable> rms = measure_channels(*calibrated->model, *backend_, calibration_ids(*model_), job);
    ASSERT_TRUE(rms);
    for (const LayerChannels& layer : *rms) {
        // Rotary pairs keep the difference between their two channels.
        EXPECT_LT(channel_spread(model_->config, layer), 1.5);
        const auto [low, high] = std::minmax_element(layer.v.begin(), layer.v.begin() + model_->config.head_dim);
        EXPECT_NEAR(*high / *low, 1, 1e-3);
    }
    const Result<PreparedModel> outliers = prepare({KvEqualise::off, 6, folder_});
    ASSERT_FALSE(outliers);
    EXPECT_EQ(outliers.error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace octavo
