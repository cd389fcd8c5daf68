// The one table of weight types: how a tensor's bytes become float32. Readers, `inspect`, matrix kernels and tests read
// it; supporting another type is one entry here, one decoder, and (for speed) one unpacker in the fast backends.
//
// Source: GGUF v3 tensor types, safetensors dtypes and what quantisers store in them; layouts as in
// kernels/reference/weight_decode*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace octavo {

inline constexpr uint32_t kNoGgufType = 0xffffffffu;

enum class WeightType : uint8_t {
    // clang-format off
    f32, f16, bf16,                 // plain numbers
    q8_0,                           // blocks of 32 with one scale
    f8_e4m3, f8_e4m3_blocks,        // of safetensors only
    q4_0, q4_1, q5_0, q5_1,         // blocks of 32 with one scale
    q2_k, q3_k, q4_k, q5_k, q6_k,   // blocks of 256 with scaled sub-blocks
    iq4_nl, iq4_xs,                 // codes point into a table of values
    iq3_s, iq3_xxs, iq2_xxs, iq2_xs, iq2_s, iq1_s, iq1_m,
    mxfp4, nvfp4,                   // codes are 4-bit floats
    tq1_0, tq2_0, q1_0, q2_0,       // codes are -1, 0 and 1, or -1 and 1
    nvfp4_apart,                    // of safetensors only
    // clang-format on
};
inline constexpr int kWeightTypes = static_cast<int>(WeightType::nvfp4_apart) + 1;

struct WeightTypeSpec {
    WeightType type;
    std::string_view name;  // as GGUF tools print it: "Q8_0"
    uint32_t gguf_id;       // type number in a GGUF tensor record; kNoGgufType: not a type of GGUF
    int block_values;       // values that share a block; a row is a whole number of blocks
    int block_bytes;
    // Exact float32 values of `blocks` consecutive blocks; values[blocks * block_values].
    void (*decode)(const std::byte* data, int64_t blocks, float* values);
    // Types that keep the scales of blocks in another array (Matrix::block_scales): bytes of a block there, and the
    // decoder; `decode` is nullptr then.
    int scale_bytes = 0;
    void (*decode_apart)(const std::byte* data, const std::byte* scales, int64_t blocks, float* values) = nullptr;
    int scale_rows = 1;  // rows that share a row of those scales
};

std::span<const WeightTypeSpec> weight_types();
const WeightTypeSpec& weight_type_spec(WeightType type);
// nullptr when this build cannot read the type; `weight_type_name` still names the ones it knows of.
const WeightTypeSpec* find_weight_type(uint32_t gguf_id);
// For messages; empty for a number that no known type has.
std::string_view weight_type_name(uint32_t gguf_id);

}  // namespace octavo
