// The models on this machine, with what a person wants to know before loading one: read from headers alone.
//
// Threads: values; read_library waits for the disk, for as long as SearchLimits allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/library/find_models.h"
#include "app/library/model_places.h"
#include "kernels/base/job.h"

namespace octavo {

enum class ModelVerdict {
    usable,
    unsupported,  // sound, but not for this program
    incomplete,   // parts are missing, or it is still arriving
    broken,
};

struct LibraryModel {
    std::string name;
    std::string group;          // repository or folder
    std::string source;         // "LM Studio", or the folder that a person chose
    std::string path;           // what open_model takes; empty: there is no file to open
    std::string location = {};  // where it lies, or where what there is of it does
    std::string architecture;
    std::string quantisation;
    int64_t bytes = 0;  // of all files, as they are
    int files = 1;
    int64_t parameters = 0;
    int64_t context_tokens = 0;           // that it was made for; 0: not known
    int64_t needed_bytes = 0;             // of memory, with a conversation of `priced_tokens`; 0: not known
    std::vector<std::string> notes = {};  // what of it is not used, in sentences
    ModelVerdict verdict = ModelVerdict::usable;
    std::string problem = {};  // a sentence; empty: usable
};

// Contexts that needed_bytes reckons with.
constexpr int64_t kPricedTokens = 8192;

struct LibraryPlace {
    ModelPlace place;
    int models = 0;     // that are listed
    std::string error;  // why not everything was seen
};

struct ModelLibrary {
    std::vector<LibraryModel> models;  // by place, then by name; each real file once
    std::vector<LibraryPlace> places;
};

// A cancelled job ends it early, with what was found so far.
ModelLibrary read_library(const std::vector<ModelPlace>& places, const SearchLimits& limits, const Job& job);

// One file or folder of safetensors, wherever it lies; any part of a split model stands for the whole.
LibraryModel describe_model(const std::string& path);

enum class MemoryFit {
    fits,
    fits_when_free,  // less is free now, but the machine has enough
    too_large,
    unknown,
};
MemoryFit memory_fit(const LibraryModel& model, size_t total_bytes, size_t available_bytes);
std::string_view memory_fit_name(MemoryFit fit);  // "fits", "fits when memory is freed", "too large", "unknown"

}  // namespace octavo
