// Channels of keys and values, scaled without changing what a model computes. Dividing channel c of every key by s and
// multiplying channel c of the queries by s leaves their products alone; dividing channel c of every value by t and
// multiplying attention's output by t likewise. s folds into the norm weights of Q and K, t is
// AttentionWeights::v_scale.
//
// With it, channels that are much larger than the others ("outlier channels") go away before keys are quantised; or
// they are put in, to test formats on a model that is harder than the one at hand.
//
// Rotary pairs (j, j + rope_dims / 2) share one s, because rotary mixes them.
// Threads: pure functions; models are immutable.
// Source: the design's kv_formats, section 3b.
#pragma once

#include <memory>
#include <vector>

#include "kernels/base/error.h"
#include "models/model.h"

namespace octavo {

// A number per channel of one full-attention layer: a root mean square, or a divisor.
struct LayerChannels {
    std::vector<float> k;  // [kv_heads][head_dim]
    std::vector<float> v;  // [kv_heads][head_dim]; empty in divisors: values are left alone
};
using ChannelTable = std::vector<LayerChannels>;  // one per full-attention layer, in layer order

// Divisors that need no measurement: the norm weights of K themselves, which are the part of its spread that does not
// depend on the text. They leave values alone.
ChannelTable free_divisors(const Model& model);
// Divisors from measured root mean squares of keys (after rotary) and values, with a geometric mean of 1 in each head.
ChannelTable calibrated_divisors(const HybridConfig& config, const ChannelTable& rms);
// Divisors below 1 on channels 70, 121, 180 and 233 (those that the model has), one for each layer, such that the
// layer's channel_spread becomes `spread`. ErrorKind::usage where the layer's own spread is larger, or the model has
// none of these channels.
Result<ChannelTable> outlier_divisors(const HybridConfig& config, const ChannelTable& rms, double spread);

// Largest over median root mean square of the channels of K, of the head where it is largest.
double channel_spread(const HybridConfig& config, const LayerChannels& rms);

// The root mean squares after a division.
ChannelTable divided_rms(ChannelTable rms, const ChannelTable& divisors);

// A model that shares everything with `model` but the scaling of its channels. ErrorKind::input where the table does
// not fit the model or holds anything but positive numbers; memory.
Result<std::shared_ptr<const Model>> divide_channels(const std::shared_ptr<const Model>& model,
                                                     const ChannelTable& divisors);

Result<std::shared_ptr<const Model>> equalise_free(const std::shared_ptr<const Model>& model);
Result<std::shared_ptr<const Model>> equalise_calibrated(const std::shared_ptr<const Model>& model,
                                                         const ChannelTable& rms);
Result<std::shared_ptr<const Model>> with_outliers(const std::shared_ptr<const Model>& model, double spread,
                                                   const ChannelTable& rms);

}  // namespace octavo
