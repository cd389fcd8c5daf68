// Finds the model files of a place: names only, nothing is opened but Ollama's manifests. Parts of a split model are
// one; downloads that go on are told from models.
//
// Bounds: depth, entries looked at, models found and time (SearchLimits); what goes beyond is said in `error`. Links to
// folders are followed, but not to folders above the place; each real folder is looked at once. Hidden files are left
// out. Errors: sentences in the results; what could be read is there. Threads: it waits for the disk.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "app/library/model_places.h"
#include "kernels/base/job.h"

namespace octavo {

struct SearchLimits {
    int depth = 8;  // folders below the place
    int entries = 50000;
    int models = 1000;
    std::chrono::milliseconds time = std::chrono::seconds(20);
};

struct FoundModel {
    std::string name;                          // "Qwen3.6-35B-A3B-Q4_K_M", "qwen3:30b"
    std::string group;                         // "unsloth/Qwen3.6-35B-A3B-GGUF", or the folder below the place
    std::vector<std::filesystem::path> files;  // parts that are there, the first first; or one folder of safetensors
    bool safetensors = false;
    std::string incomplete = {};          // a sentence; empty: all parts are there
    std::filesystem::path location = {};  // without files: what there is of it
};

struct FoundModels {
    std::vector<FoundModel> models;  // in order of their names
    std::string error;
};

FoundModels find_models(const ModelPlace& place, const SearchLimits& limits, const Job& job);

}  // namespace octavo
