#include "kernels/weight_type.h"

#include <cassert>

#include "kernels/reference/weight_decode.h"

namespace octavo {
namespace {

// In the order of WeightType: type, name, GGUF id, values and bytes of a block, decoder.
constexpr WeightTypeSpec kTypes[] = {
    {WeightType::f32, "F32", 0, 1, 4, decode_f32},
    {WeightType::f16, "F16", 1, 1, 2, decode_f16},
    {WeightType::bf16, "BF16", 30, 1, 2, decode_bf16},
    {WeightType::q8_0, "Q8_0", 8, 32, 34, decode_q8_0},
    {WeightType::f8_e4m3, "F8_E4M3", kNoGgufType, 1, 1, decode_f8_e4m3},
    {WeightType::f8_e4m3_blocks, "F8_E4M3 in blocks", kNoGgufType, 128, 128, nullptr, 4, decode_f8_e4m3_blocks, 128},
    {WeightType::q4_0, "Q4_0", 2, 32, 18, decode_q4_0},
    {WeightType::q4_1, "Q4_1", 3, 32, 20, decode_q4_1},
    {WeightType::q5_0, "Q5_0", 6, 32, 22, decode_q5_0},
    {WeightType::q5_1, "Q5_1", 7, 32, 24, decode_q5_1},
    {WeightType::q2_k, "Q2_K", 10, 256, 84, decode_q2_k},
    {WeightType::q3_k, "Q3_K", 11, 256, 110, decode_q3_k},
    {WeightType::q4_k, "Q4_K", 12, 256, 144, decode_q4_k},
    {WeightType::q5_k, "Q5_K", 13, 256, 176, decode_q5_k},
    {WeightType::q6_k, "Q6_K", 14, 256, 210, decode_q6_k},
    {WeightType::iq4_nl, "IQ4_NL", 20, 32, 18, decode_iq4_nl},
    {WeightType::iq4_xs, "IQ4_XS", 23, 256, 136, decode_iq4_xs},
    {WeightType::iq3_s, "IQ3_S", 21, 256, 110, decode_iq3_s},
    {WeightType::iq3_xxs, "IQ3_XXS", 18, 256, 98, decode_iq3_xxs},
    {WeightType::iq2_xxs, "IQ2_XXS", 16, 256, 66, decode_iq2_xxs},
    {WeightType::iq2_xs, "IQ2_XS", 17, 256, 74, decode_iq2_xs},
    {WeightType::iq2_s, "IQ2_S", 22, 256, 82, decode_iq2_s},
    {WeightType::iq1_s, "IQ1_S", 19, 256, 50, decode_iq1_s},
    {WeightType::iq1_m, "IQ1_M", 29, 256, 56, decode_iq1_m},
    {WeightType::mxfp4, "MXFP4", 39, 32, 17, decode_mxfp4},
    {WeightType::nvfp4, "NVFP4", 40, 64, 36, decode_nvfp4},
    {WeightType::tq1_0, "TQ1_0", 34, 256, 54, decode_tq1_0},
    {WeightType::tq2_0, "TQ2_0", 35, 256, 66, decode_tq2_0},
    {WeightType::q1_0, "Q1_0", 41, 128, 18, decode_q1_0},
    {WeightType::q2_0, "Q2_0", 42, 64, 18, decode_q2_0},
    {WeightType::nvfp4_apart, "NVFP4 with scales apart", kNoGgufType, 16, 8, nullptr, 1, decode_nvfp4_apart},
};
static_assert(std::size(kTypes) == kWeightTypes);

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
        if (spec.gguf_id == gguf_id && gguf_id != kNoGgufType) return &spec;
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
