#include "kernels/weight_type.h"

#include <cassert>

#include "kernels/reference/weight_decode.h"

namespace octavo {
namespace {

// In the order of WeightType.
constexpr WeightTypeSpec kTypes[] = {
    {.type = WeightType::f32, .name = "F32", .gguf_id = 0, .block_values = 1, .block_bytes = 4, .decode = decode_f32},
    {.type = WeightType::f16, .name = "F16", .gguf_id = 1, .block_values = 1, .block_bytes = 2, .decode = decode_f16},
    {.type = WeightType::bf16,
     .name = "BF16",
     .gguf_id = 30,
     .block_values = 1,
     .block_bytes = 2,
     .decode = decode_bf16},
    {.type = WeightType::q8_0,
     .name = "Q8_0",
     .gguf_id = 8,
     .block_values = 32,
     .block_bytes = 34,
     .decode = decode_q8_0},
};

constexpr bool in_order() {
    size_t index = 0;
    for (const WeightTypeSpec& spec : kTypes) {
        if (static_cast<size_t>(spec.type) != index++) return false;
    }
    return true;
}
static_assert(in_order());

struct TypeName {
    uint32_t gguf_id;
    std::string_view name;
};

// Every tensor type that GGUF files use, readable by this build or not, for messages.
constexpr TypeName kNames[] = {
    {0, "F32"},      {1, "F16"},     {2, "Q4_0"},     {3, "Q4_1"},   {6, "Q5_0"},    {7, "Q5_1"},   {8, "Q8_0"},
    {9, "Q8_1"},     {10, "Q2_K"},   {11, "Q3_K"},    {12, "Q4_K"},  {13, "Q5_K"},   {14, "Q6_K"},  {15, "Q8_K"},
    {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},
    {23, "IQ4_XS"},  {24, "I8"},     {25, "I16"},     {26, "I32"},   {27, "I64"},    {28, "F64"},   {29, "IQ1_M"},
    {30, "BF16"},    {34, "TQ1_0"},  {35, "TQ2_0"},   {39, "MXFP4"}, {40, "NVFP4"},  {41, "Q1_0"},  {42, "Q2_0"},
};

}  // namespace

std::span<const WeightTypeSpec> weight_types() { return kTypes; }

const WeightTypeSpec& weight_type_spec(WeightType type) {
    assert(static_cast<size_t>(type) < std::size(kTypes));
    return kTypes[static_cast<size_t>(type)];
}

const WeightTypeSpec* find_weight_type(uint32_t gguf_id) {
    for (const WeightTypeSpec& spec : kTypes) {
        if (spec.gguf_id == gguf_id) return &spec;
    }
    return nullptr;
}

std::string_view weight_type_name(uint32_t gguf_id) {
    for (const TypeName& entry : kNames) {
        if (entry.gguf_id == gguf_id) return entry.name;
    }
    return {};
}

}  // namespace octavo
