// What a model is, told from the headers of its files alone: its sizes, its quantisation, and what this program lacks
// to run it. Cheap enough to do for every file of a folder.
//
// Errors: of files that are broken; what is sound but cannot be run is part of the summary. Memory: one header at a
// time, 64 MiB at most. Threads: it waits for the disk.
// Non-goal: whether every tensor is there and has its shape, beyond one for each layer; open_model says that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "models/hybrid/config_reader.h"

namespace octavo {

enum class FileKind {
    model,
    vision_part,  // mmproj: what turns images into tokens for a model beside it
    adapter,      // LoRA
    vocabulary,   // without weights
    other,        // importance matrices and the like
};

struct ModelSummary {
    FileKind kind = FileKind::model;
    std::string name;          // general.name; may be empty
    std::string architecture;  // general.architecture, or model_type of a folder
    std::string quantisation;  // "Q4_K_M", or the type that most bytes have
    int parts = 1;             // files that belong to it, there or not
    int part = 1;              // that the first file is, from 1: above 1, the first part was not among the files
    uint64_t file_bytes = 0;   // of the files as they are
    uint64_t whole_bytes = 0;  // of the files when they are whole: more than file_bytes while they arrive

    int64_t parameters = 0;
    int64_t weight_bytes = 0;  // that running it reads: without draft blocks and vision tensors
    int64_t draft_bytes = 0;   // of draft (MTP) blocks
    int64_t vision_bytes = 0;  // of vision tensors inside the file
    std::vector<std::string> unsupported_types;
    std::string missing_file;  // of a folder, the first that is not there

    std::optional<HybridDescription> description;  // absent: not of the hybrid family, or `problem` says why
    std::string problem;                           // a fragment of a sentence
};

// `files`: all parts of one GGUF model that are there, the first first.
Result<ModelSummary> summarise_gguf(std::span<const std::filesystem::path> files);
// A folder with config.json and safetensors.
Result<ModelSummary> summarise_safetensors(const std::filesystem::path& folder);

}  // namespace octavo
