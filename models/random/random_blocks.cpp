#include "models/random/random_blocks.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/base/float8.h"
#include "kernels/base/half.h"

namespace octavo {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are written as they lie in memory");

void put_half(std::byte* at, float value) {
    const f16_bits bits = f32_to_f16(value);
    std::memcpy(at, &bits, sizeof bits);
}

// The block's scale as a half float at `at`; codes are even about zero.
template <int at>
void half_scale(std::byte* block, float scale, RandomStream&) {
    put_half(block + at, scale);
}

// Values are scale * code + minimum: the minimum takes the mean of the codes away, which is `half_mean` / 2.
template <int half_mean>
void half_scale_and_minimum(std::byte* block, float scale, RandomStream&) {
    put_half(block, scale);
    put_half(block + 2, -0.5f * half_mean * scale);
}

// Q2_K: 16 bytes of a 4-bit scale and a 4-bit minimum each; values are scale * (code 0..3) - minimum.
void q2_k_scales(std::byte* block, float scale, RandomStream& random) {
    for (int word = 0; word < 2; ++word) {
        const uint64_t scales = (random.next() & 0x0707070707070707) | 0x0808080808080808;
        const uint64_t pairs = scales | scales << 4;
        std::memcpy(block + 8 * word, &pairs, sizeof pairs);
    }
    put_half(block + 80, scale);
    put_half(block + 82, 1.5f * scale);
}

// Q4_K and Q5_K: eight 6-bit scales and minimums in 12 bytes: the low four of each in bytes 0-3 and 4-7, whose upper
// two bits are the upper two of the other four; their lower nibbles are in bytes 8-11. Values are scale * code -
// minimum.
template <int half_mean>
void six_bit_scales(std::byte* block, float scale, RandomStream& random) {
    const uint64_t drawn = (random.next() & 0x1f1f1f1f1f1f1f1f) | 0x2020202020202020;  // 32..63
    const auto low = static_cast<uint32_t>(drawn);
    const auto high = static_cast<uint32_t>(drawn >> 32);
    const uint32_t with_upper = low | (high & 0x30303030) << 2;
    const uint32_t nibbles = (high & 0x0f0f0f0f) | (high & 0x0f0f0f0f) << 4;
    const uint32_t packed[] = {with_upper, with_upper, nibbles};
    put_half(block, scale);
    put_half(block + 2, 0.5f * half_mean * scale);
    std::memcpy(block + 4, packed, sizeof packed);
}

// Q6_K: 16 signed bytes of scales before the half float.
void q6_k_scales(std::byte* block, float scale, RandomStream& random) {
    for (int word = 0; word < 2; ++word) {
        const uint64_t scales = (random.next() & 0x1f1f1f1f1f1f1f1f) | 0x2020202020202020;
        std::memcpy(block + 192 + 8 * word, &scales, sizeof scales);
    }
    put_half(block + 208, scale);
}

// One of the two neighbours of `value` on a grid, drawn so that the mean of the squares is that of `value`.
float pick_neighbour(float value, float below, float above, RandomStream& random) {
    const double share =
        (double{value} * value - double{below} * below) / (double{above} * above - double{below} * below);
    return random.next_unit() < share ? above : below;
}

// MXFP4: a power of two in one byte.
void mxfp4_scale(std::byte* block, float scale, RandomStream& random) {
    const float below = std::exp2(std::floor(std::log2(scale)));
    const float picked = pick_neighbour(scale, below, 2 * below, random);
    block[0] = static_cast<std::byte>(std::ilogb(picked) + 127);
}

// NVFP4: four E4M3 numbers. The smallest are coarse, so each is one of two neighbours.
void nvfp4_scales(std::byte* block, float scale, RandomStream& random) {
    constexpr float kStep = 0x1p-9f;
    for (int i = 0; i < 4; ++i) {
        const float below = std::floor(scale / kStep) * kStep;
        const float picked = scale >= 0x1p-6f ? scale : pick_neighbour(scale, below, below + kStep, random);
        block[i] = static_cast<std::byte>(f32_to_e4m3(picked));
    }
}

// IQ1_M: four bits of the half float lie on top of each of the last four 16-bit words.
void iq1_m_scale(std::byte* block, float scale, RandomStream&) {
    const uint32_t bits = f32_to_f16(scale);
    for (int word = 0; word < 4; ++word) {
        std::byte& high = block[48 + 2 * word + 1];
        high = (high & std::byte{0x0f}) | static_cast<std::byte>((bits >> (4 * word) & 15) << 4);
    }
}

// TQ2_0 and Q2_0: two bits stand for -1, 0 and 1; what would be 2 becomes 0.
template <int codes, int code_bytes, int scale>
void ternary_pairs(std::byte* block, float value, RandomStream&) {
    for (std::byte& four : std::span(block + codes, code_bytes)) {
        const std::byte threes = four & four >> 1 & std::byte{0x55};
        four ^= threes << 1;
    }
    put_half(block + scale, value);
}

struct BlockFields {
    uint32_t gguf_id;
    void (*set)(std::byte* block, float scale, RandomStream& random);
};

constexpr BlockFields kFields[] = {
    {2, half_scale<0>},               // Q4_0
    {3, half_scale_and_minimum<15>},  // Q4_1
    {6, half_scale<0>},               // Q5_0
    {7, half_scale_and_minimum<31>},  // Q5_1
    {8, half_scale<0>},               // Q8_0
    {10, q2_k_scales},                // Q2_K
    {11, half_scale<108>},            // Q3_K: any bits do for its sub-scales
    {12, six_bit_scales<15>},         // Q4_K
    {13, six_bit_scales<31>},         // Q5_K
    {14, q6_k_scales},                // Q6_K
    {16, half_scale<0>},              // IQ2_XXS
    {17, half_scale<0>},              // IQ2_XS
    {18, half_scale<0>},              // IQ3_XXS
    {19, half_scale<0>},              // IQ1_S
    {20, half_scale<0>},              // IQ4_NL
    {21, half_scale<0>},              // IQ3_S
    {22, half_scale<0>},              // IQ2_S
    {23, half_scale<0>},              // IQ4_XS
    {29, iq1_m_scale},                // IQ1_M
    {34, half_scale<52>},             // TQ1_0
    {35, ternary_pairs<0, 64, 64>},   // TQ2_0
    {39, mxfp4_scale},                // MXFP4
    {40, nvfp4_scales},               // NVFP4
    {41, half_scale<0>},              // Q1_0
    {42, ternary_pairs<2, 16, 0>},    // Q2_0
};

const BlockFields* find_fields(uint32_t gguf_id) {
    for (const BlockFields& fields : kFields) {
        if (fields.gguf_id == gguf_id) return &fields;
    }
    return nullptr;
}

bool is_float(const WeightTypeSpec& spec) {
    return spec.type == WeightType::f32 || spec.type == WeightType::f16 || spec.type == WeightType::bf16;
}

constexpr int kFloatBits = 12;
constexpr size_t kFloats = size_t{1} << kFloatBits;
constexpr uint64_t kTableSeed = 1;

double root_mean_square(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += double{value} * value;
    return std::sqrt(sum / static_cast<double>(values.size()));
}

// Sums of uniform numbers: bell-shaped, and the same on every machine. Pairs of opposite sign: the mean is 0.
std::vector<float> bell_values() {
    RandomStream random(kTableSeed);
    std::vector<float> values(kFloats);
    for (size_t i = 0; i < kFloats; i += 2) {
        double sum = -6;
        for (int draw = 0; draw < 12; ++draw) sum += random.next_unit();
        values[i] = static_cast<float>(sum);
        values[i + 1] = -values[i];
    }
    return values;
}

void encode_float(WeightType type, float value, std::byte* to) {
    if (type == WeightType::f32) {
        std::memcpy(to, &value, sizeof value);
        return;
    }
    const uint16_t bits = type == WeightType::f16 ? f32_to_f16(value) : f32_to_bf16(value);
    std::memcpy(to, &bits, sizeof bits);
}

void fill_bits(std::span<std::byte> bytes, RandomStream& random) {
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
        const uint64_t bits = random.next();
        std::memcpy(bytes.data() + at, &bits, sizeof bits);
    }
    const uint64_t bits = random.next();
    std::memcpy(bytes.data() + at, &bits, bytes.size() - at);
}

}  // namespace

bool can_fill(const WeightTypeSpec& spec) { return is_float(spec) || find_fields(spec.gguf_id) != nullptr; }

RandomBlocks::RandomBlocks(const WeightTypeSpec& spec, float deviation) : spec_(&spec) {
    assert(can_fill(spec) && deviation > 0);
    if (is_float(spec)) {
        const std::vector<float> values = bell_values();
        const double factor = deviation / root_mean_square(values);
        floats_.resize(kFloats * static_cast<size_t>(spec.block_bytes));
        for (size_t i = 0; i < kFloats; ++i) {
            encode_float(spec.type, static_cast<float>(values[i] * factor),
                         floats_.data() + i * static_cast<size_t>(spec.block_bytes));
        }
        return;
    }
    // How large values come out at scale 1 is asked of the decoder.
    constexpr size_t kBlocks = 256;
    RandomStream random(kTableSeed);
    std::vector<std::byte> blocks(kBlocks * static_cast<size_t>(spec.block_bytes));
    fill_codes(blocks, 1, random);
    std::vector<float> values(kBlocks * static_cast<size_t>(spec.block_values));
    spec.decode(blocks.data(), kBlocks, values.data());
    scale_ = static_cast<float>(deviation / root_mean_square(values));
}

void RandomBlocks::fill(std::span<std::byte> blocks, RandomStream& random) const {
    if (floats_.empty()) {
        fill_codes(blocks, scale_, random);
    } else {
        fill_floats(blocks, random);
    }
}

void RandomBlocks::fill_codes(std::span<std::byte> blocks, float scale, RandomStream& random) const {
    fill_bits(blocks, random);
    const BlockFields& fields = *find_fields(spec_->gguf_id);
    const auto step = static_cast<size_t>(spec_->block_bytes);
    for (size_t at = 0; at + step <= blocks.size(); at += step) fields.set(blocks.data() + at, scale, random);
}

void RandomBlocks::fill_floats(std::span<std::byte> values, RandomStream& random) const {
    const auto step = static_cast<size_t>(spec_->block_bytes);
    uint64_t bits = 0;
    int left = 0;
    for (size_t at = 0; at + step <= values.size(); at += step) {
        if (left < kFloatBits) {
            bits = random.next();
            left = 64;
        }
        std::memcpy(values.data() + at, floats_.data() + (bits & (kFloats - 1)) * step, step);
        bits >>= kFloatBits;
        left -= kFloatBits;
    }
}

}  // namespace octavo
