#include "kernels/cpu/isa/kv_decode.h"

#include "kernels/cpu/isa/kv_codes.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

template <class T>
void decode_raw(const BulkTile& bulk, int from, int to, int head_dim, int width, float* tile) {
    for (int c = from; c < to; ++c) {
        const T* row = reinterpret_cast<const T*>(bulk.payload + c * bulk.payload_stride);
        float* const out = tile + c * width;
        int i = 0;
        for (; i + kLanes <= head_dim; i += kLanes) store(out + i, load_values(row + i));
        if (i < head_dim) {
            store(out + i, load_part(row + i, head_dim - i));
            i += kLanes;
        }
        for (; i < width; i += kLanes) store(out + i, zero());
    }
}

const uint16_t* scales_of(const BulkTile& bulk, int cell) {
    return reinterpret_cast<const uint16_t*>(bulk.scales + cell * bulk.scale_stride);
}

// head_dim is a multiple of the block, so there is nothing beyond it.
template <class Format>
void decode_blocks(const BulkTile& bulk, int from, int to, int head_dim, int width, float* tile) {
    constexpr int kBlocks = 16;  // whose scales are widened together
    for (int c = from; c < to; ++c) {
        const std::byte* const row = bulk.payload + c * bulk.payload_stride;
        float* const out = tile + c * width;
        float scales[kBlocks];
        for (int block = 0; block < head_dim / kKvBlock; ++block) {
            if (block % kBlocks == 0) {
                const int rest = head_dim / kKvBlock - block;
                widen_scales(scales_of(bulk, c) + block, rest < kBlocks ? rest : kBlocks, scales);
            }
            const VecF factor = Format::factor(set1(scales[block % kBlocks]));
            for (int i = block * kKvBlock; i < (block + 1) * kKvBlock; i += kLanes) {
                store(out + i, Format::values(factor, row, head_dim, i));
            }
        }
    }
}

template <class Format>
void decode_rows(const BulkTile& bulk, int from, int to, int head_dim, int width, float* tile) {
    for (int c = from; c < to; ++c) {
        const std::byte* const row = bulk.payload + c * bulk.payload_stride;
        float scale;
        widen_scales(scales_of(bulk, c), 1, &scale);
        const VecF factor = Format::factor(set1(scale));
        float* const out = tile + c * width;
        int i = 0;
        for (; i + kLanes <= head_dim; i += kLanes) store(out + i, Format::values(factor, row, head_dim, i));
        for (int j = i; j < width; j += kLanes) store(out + j, zero());
        for (; i < head_dim; ++i) out[i] = scale * Format::code(row, i);
    }
}

// The tile is a group; head_dim is a multiple of 16 there, and so of every kLanes.
void decode_channels(const BulkTile& bulk, int from, int to, int head_dim, int width, float* tile) {
    constexpr int kRunBytes = 8;
    for (int i = 0; i < head_dim; i += kLanes) {
        const ChannelCodes codes(bulk.payload + i * kRunBytes);
        const VecF scale = load_f16(scales_of(bulk, 0) + i);
        for (int c = from; c < to; ++c) store(tile + c * width + i, mul(scale, codes.levels(c)));
    }
}

// In the order of KvFormat.
constexpr DecodeTile kDecoders[] = {
    decode_raw<float>,
    decode_raw<F16>,
    decode_raw<Bf16>,
    decode_blocks<SignedBytes>,
    decode_blocks<E4m3>,
    decode_blocks<SixBitPlanes>,
    decode_blocks<SignedNibbles>,
    decode_rows<SignedBytes>,
    decode_rows<SixBitTriples>,
    decode_rows<SignedNibbles>,
    decode_channels,
    decode_blocks<LevelPairs>,
    decode_blocks<LevelNibbles>,
};

}  // namespace

DecodeTile kv_decoder(int format) { return kDecoders[format]; }

}  // namespace octavo::OCTAVO_ISA
