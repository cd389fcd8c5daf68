// Decoders of weight types: exact float32 values of whole blocks. Layouts are in the .cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo {

// data: `blocks` consecutive blocks, any alignment; values[blocks * block_values].
void decode_f32(const std::byte* data, int64_t blocks, float* values);
void decode_f16(const std::byte* data, int64_t blocks, float* values);
void decode_bf16(const std::byte* data, int64_t blocks, float* values);
void decode_q8_0(const std::byte* data, int64_t blocks, float* values);

}  // namespace octavo
