// Formats with one scale for the whole row. Nothing is summed, so a row is walked along its values.
#include "kernels/cpu/isa/kv_encode.h"
#include "kernels/cpu/isa/kv_lanes.h"

namespace octavo::OCTAVO_ISA {
namespace {

// Values whose codes are taken before they are packed: a multiple of every format's packing and of kLanes.
constexpr int kStep = 64;

VecF load_values_of(const float* x, int count) { return count >= kLanes ? load(x) : load_first(x, count); }

// The scale of a row whose largest code is `top`, in all lanes; false when the row cannot be encoded.
bool row_scale(const float* x, int count, float top, uint16_t& scale_bits, VecF& scale) {
    VecF largest = zero();
    VecF nothing = zero();  // stays 0 when all values are finite
    for (int i = 0; i < count; i += kLanes) {
        const VecF values = load_values_of(x + i, count - i);
        largest = max(largest, abs(values));
        nothing = add(nothing, sub(values, values));
    }
    const VecF exact = div(max(set1(reduce_max(largest)), set1(1e-6f)), set1(top));
    uint16_t bits[kLanes];
    scale = round_scale(exact, bits);
    scale_bits = bits[0];
    return none_set(misfits(exact)) && none_set(select_eq(nothing, zero(), zero(), set1(1)));
}

// pack(codes, count, bytes) turns up to kStep codes of one row into bytes.
template <class Pack>
bool encode_rows(const KvEncodeRows& op, float top, int payload_bits, Pack pack) {
    bool good = true;
    for (int64_t row = 0; row < op.rows; ++row) {
        const float* const x = op.x + row * op.head_dim;
        std::byte* const payload = op.payload + row * op.head_dim * payload_bits / 8;
        VecF scale;
        good = row_scale(x, op.head_dim, top, op.scales[row], scale) && good;
        for (int first = 0; first < op.head_dim; first += kStep) {
            const int count = op.head_dim - first < kStep ? op.head_dim - first : kStep;
            float codes[kStep];
            for (int i = 0; i < count; i += kLanes) {
                store(codes + i, quantise(load_values_of(x + first + i, count - i), scale, -top, top));
            }
            pack(codes, count, reinterpret_cast<uint8_t*>(payload + first * payload_bits / 8));
        }
    }
    return good;
}

}  // namespace

bool encode_q8r(const KvEncodeRows& op) {
    return encode_rows(op, 127, 8, [](const float* codes, int count, uint8_t* bytes) {
        for (int i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(static_cast<int>(codes[i]));
    });
}

bool encode_q6r(const KvEncodeRows& op) {
    return encode_rows(op, 31, 6, [](const float* codes, int count, uint8_t* bytes) {
        for (int i = 0; i < count; i += 4, bytes += 3) {
            uint32_t packed = 0;
            for (int j = 0; j < 4; ++j) packed |= static_cast<uint32_t>(static_cast<int>(codes[i + j]) + 32) << (6 * j);
            for (int j = 0; j < 3; ++j) bytes[j] = static_cast<uint8_t>(packed >> (8 * j));
        }
    });
}

bool encode_q4r(const KvEncodeRows& op) {
    return encode_rows(op, 7, 4, [](const float* codes, int count, uint8_t* bytes) {
        for (int i = 0; i < count; i += 2) {
            const int low = static_cast<int>(codes[i]) & 15;
            const int high = static_cast<int>(codes[i + 1]) & 15;
            bytes[i / 2] = static_cast<uint8_t>(low | high << 4);
        }
    });
}

}  // namespace octavo::OCTAVO_ISA
