// The size of every channel of a model's keys and values, measured over a text, for channel equalisation.
//
// The text is built in and generated from a seed, so that the same model gives the same figures on the same machine.
// Figures are kept in a small JSON file per model (see calibration_file.h), because a large model takes minutes.
//
// Threads: one at a time per back end.
// Source: the design's kv_formats, section 3b.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/job.h"
#include "models/hybrid/equalise.h"
#include "runtime/kv/kv_settings.h"

namespace octavo {

inline constexpr int64_t kCalibrationTokens = 4096;

// Token ids of the built-in text; seeded numbers where the model has no tokenizer. At most the model's context.
std::vector<int32_t> calibration_ids(const Model& model, int64_t count = kCalibrationTokens);

// Runs the ids through the model with an f32 cache and gives the root mean square of every channel. job counts tokens.
Result<ChannelTable> measure_channels(const Model& model, Backend& backend, std::span<const int32_t> ids, Job& job);

struct Calibration {
    ChannelTable rms;
    std::vector<std::string> notes;  // sentences for a person: measured, kept where, a damaged file ignored
};

// From the model's file in `folder` where there is a good one; else measured, and kept there. An empty folder: nothing
// is kept. Trouble with the file is a note, not an error.
Result<Calibration> calibrate(const Model& model, Backend& backend, const std::filesystem::path& folder, Job& job);

// How the channels of a model's keys and values are to be scaled; the model computes the same whatever is chosen.
struct ChannelOptions {
    KvEqualise equalise = KvEqualise::off;
    double outlier_spread = 0;     // for tests: outlier channels of this spread are put in first; 0: none
    std::filesystem::path folder;  // of the calibration files
};

struct PreparedModel {
    std::shared_ptr<const Model> model;
    std::vector<std::string> notes;
};

Result<PreparedModel> prepare_channels(std::shared_ptr<const Model> model, const ChannelOptions& options,
                                       Backend& backend, Job& job);

}  // namespace octavo
