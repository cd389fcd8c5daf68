// A GGUF file of random weights with the true sizes of a real model: for tests and timings, no model of anything. The
// same request gives the same bytes.
//
// Errors: ErrorKind::io where the disk is full or refuses (with bytes wanted and free), usage for a request that makes
// no sense, cancelled. The file is filled as PATH.part and gets its name when it is whole; a failed one is removed.
// Memory: a few MiB a core, whatever the size of the file. Threads: any; all cores write.
#pragma once

#include <cstdint>
#include <filesystem>

#include "kernels/base/error.h"
#include "kernels/base/job.h"
#include "models/random/model_shape.h"
#include "models/random/type_mix.h"

namespace octavo {

struct RandomFileRequest {
    const ModelShape* shape = nullptr;
    ShapeChanges changes;
    TypeMix types;
    uint64_t seed = 0;
    // Its tokenizer and chat template are taken; empty: a vocabulary of bytes.
    std::filesystem::path tokenizer;
    bool overwrite = false;
};

struct RandomFile {
    int64_t bytes = 0;
    int64_t parameters = 0;
    int tensors = 0;
};

Result<RandomFile> write_random_model(const RandomFileRequest& request, const std::filesystem::path& path, Job& job);

}  // namespace octavo
