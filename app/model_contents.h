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
};

// Whether decode_tensor can do it.
bool can_decode(const ModelContents& contents, const StoredTensor& tensor);
// Every value of a tensor as float32, with scales of blocks, without factors of whole tensors (they are tensors of
// their own). ErrorKind::input where its type cannot be decoded.
Result<DecodedTensor> decode_tensor(const ModelContents& contents, const StoredTensor& tensor);

}  // namespace octavo
