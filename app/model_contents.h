// What a model file holds, read without understanding it: also of files that this program cannot run.
//
// Threads: immutable once read.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/tensors/tensor_store.h"

namespace octavo {

struct MetadataLine {
    std::string key;
    std::string type;   // "U32", "array of string"; empty where the format has none
    std::string value;  // for people: long lists by their length
};

struct ModelContents {
    std::string format;
    std::vector<MetadataLine> metadata;
    TensorStore tensors;
    std::vector<std::shared_ptr<const void>> owners;  // of what the tensors point into
};

// An empty path: the bundled model.
Result<ModelContents> read_model_contents(const std::filesystem::path& path);

// Every value of a tensor as float32. ErrorKind::input where its type cannot be decoded.
Result<std::vector<float>> decode_tensor(const StoredTensor& tensor);

}  // namespace octavo
