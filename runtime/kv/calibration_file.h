// The file that keeps one model's channel measurements: JSON, named by a hash of what identifies the model (sizes,
// types, norms, a sample of the weights) and the text it was measured on.
//
// The file is the user's and may be damaged or made by somebody else: it is believed only as far as it fits the model.
// Threads: one at a time; several programs may write the same file, the last one wins and none sees half a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "models/hybrid/equalise.h"

namespace octavo {

class CalibrationFile {
  public:
    // `ids`: the text measured on. An empty folder: nothing is ever read or written.
    CalibrationFile(const Model& model, std::span<const int32_t> ids, const std::filesystem::path& folder);

    const std::filesystem::path& path() const { return path_; }  // empty without a folder

    // No value where there is no file; an error, with a sentence that says it is ignored, where it cannot be used.
    Result<std::optional<ChannelTable>> read() const;
    // Makes the folder too.
    Status write(const ChannelTable& rms) const;

  private:
    std::string key_;    // hash, 16 digits
    std::string model_;  // for people who open the file
    size_t layers_;
    size_t channels_;  // kv_heads * head_dim
    std::filesystem::path path_;
};

}  // namespace octavo
