// Depthwise convolution over time for some channels: lanes are channels, time is walked in order.
#include "kernels/cpu/isa/mixers.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

// One vector of channels (the first `count` lanes of it, when Part). taps[kernel][kLanes].
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
            sum = fma(load(taps + j * kLanes), value, sum);
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

}  // namespace

void convolve_channels(const ConvChannels& conv) {
    float* const taps = conv.scratch;
    for (int channel = 0; channel < conv.channels; channel += kLanes) {
        const int left = conv.channels - channel;
        const int count = left < kLanes ? left : kLanes;
        for (int j = 0; j < conv.kernel; ++j) {
            for (int i = 0; i < count; ++i) taps[j * kLanes + i] = conv.weight[(channel + i) * conv.kernel + j];
            for (int i = count; i < kLanes; ++i) taps[j * kLanes + i] = 0;
        }
        if (count == kLanes) {
            convolve_lanes<false>(conv, channel, count, taps);
        } else {
            convolve_lanes<true>(conv, channel, count, taps);
        }
    }
    advance_state(conv);
}

}  // namespace octavo::OCTAVO_ISA
