// Any bytes as a GGUF file, through the same door as a person's file: parser, sizes, tensors, vocabulary, template.
// Opening may fail, it may not crash, read outside the bytes, hang or take much memory.
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    (void)octavo::open_model(std::as_bytes(std::span(data, size)), "fuzz");
    return 0;
}
