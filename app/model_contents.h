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

struct DecodedTensor {
    std::vector<int64_t> shape;  // as stored, but that a byte of two codes counts as two
    std::vector<float> values;
    std::vector<std::string> scales;  // names of other tensors whose scales are in the values
};

// Whether this version knows the tensor's type.
bool can_decode(const ModelContents& contents, const StoredTensor& tensor);
// Every value of a tensor as float32, times the scales that the file keeps beside it. ErrorKind::input where the type
// cannot be decoded, or the scales do not fit.
Result<DecodedTensor> decode_tensor(const ModelContents& contents, const StoredTensor& tensor);

}  // namespace octavo
