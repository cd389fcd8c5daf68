// Depthwise convolution over time for some channels: lanes are channels, time is walked in order.
#include "kernels/cpu/isa/mixers.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

// One vector of channels (the first `count` lanes of it, when Part). Rows of taps are kConvBlock apart.
template <bool Part>
void convolve_lanes(const ConvChannels& conv, int64_t channel, int count, const float* taps) {
    const float* const x = conv.x + channel;
    const float* const state = conv.state + channel;
    const int history = conv.kernel - 1;
    for (int t = 0; t < conv.tokens; ++t) {
        VecF sum = zero();
        for (int j = 0; j < conv.kernel; ++j) {
            const int from = t - history + j;  // negative: a column of the state
            const float* column = from < 0 ? state + (history + from) * conv.stride : x + from * conv.stride;
            const VecF value = Part ? load_part(column, count) : load(column);
            sum = fma(load(taps + j * kConvBlock), value, sum);
        }
        float* const y = conv.y + channel + t * conv.stride;
        if constexpr (Part) {
            store_first(y, silu(sum), count);
        } else {
            store(y, silu(sum));
        }
    }
}

// The new state is the last kernel - 1 columns of [state; x].
void advance_state(const ConvChannels& conv) {
    const int history = conv.kernel - 1;
    for (int j = 0; j < history; ++j) {
        const int from = conv.tokens - history + j;
        const float* column = from < 0 ? conv.state + (history + from) * conv.stride : conv.x + from * conv.stride;
        float* const to = conv.state + j * conv.stride;
        for (int c = 0; c < conv.channels; ++c) to[c] = column[c];
    }
}

// taps[j][i] = weight[i][j] for `count` channels, rows of taps kConvBlock apart.
void transpose_taps(const float* weight, int kernel, int count, float* taps) {
    int i = 0;
    for (; kernel == 4 && i + 4 <= count; i += 4) {
        const Quad a = load_quad(weight + i * 4);
        const Quad b = load_quad(weight + i * 4 + 4);
        const Quad c = load_quad(weight + i * 4 + 8);
        const Quad d = load_quad(weight + i * 4 + 12);
        const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        const Quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const Quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        store_quad(taps + i, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
        store_quad(taps + i + kConvBlock, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
        store_quad(taps + i + 2 * kConvBlock, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
        store_quad(taps + i + 3 * kConvBlock, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
    }
    for (; i < count; ++i) {
        for (int j = 0; j < kernel; ++j) taps[j * kConvBlock + i] = weight[i * kernel + j];
    }
}

}  // namespace

void convolve_channels(const ConvChannels& conv) {
    float* const taps = conv.scratch;
    for (int block = 0; block < conv.channels; block += kConvBlock) {
        const int end = block + kConvBlock < conv.channels ? block + kConvBlock : conv.channels;
        transpose_taps(conv.weight + block * conv.kernel, conv.kernel, end - block, taps);
        int channel = block;
        for (; channel + kLanes <= end; channel += kLanes) {
            convolve_lanes<false>(conv, channel, kLanes, taps + channel - block);
        }
        if (channel < end) convolve_lanes<true>(conv, channel, end - channel, taps + channel - block);
    }
    advance_state(conv);
}

}  // namespace octavo::OCTAVO_ISA
