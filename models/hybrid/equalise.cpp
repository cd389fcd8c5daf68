#include "models/hybrid/equalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "kernels/base/buffer.h"

namespace octavo {
namespace {

constexpr float kSmallestWeight = 1e-3f;  // of K's norm, as a divisor
constexpr double kSmallestShare = 1e-3;   // of a head's root mean square that a channel counts as having
constexpr double kLargestOutlier = 1e6;   // factor that is tried
constexpr std::array<int, 4> kOutlierChannels = {70, 121, 180, 233};

// The channel that rotary mixes with this one, or the channel itself.
int rotary_partner(const HybridConfig& config, int channel) {
    const int half = config.rope_dims / 2;
    if (channel >= 2 * half) return channel;
    return channel < half ? channel + half : channel - half;
}

size_t row_floats(const HybridConfig& config) {
    return static_cast<size_t>(config.kv_heads) * static_cast<size_t>(config.head_dim);
}

template <class Visit>
void for_each_attention(const HybridWeights& weights, Visit visit) {
    for (const LayerWeights& layer : weights.layers) {
        if (layer.attention) visit(*layer.attention);
    }
}

double root_mean_square(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += double{value} * value;
    return std::sqrt(sum / static_cast<double>(values.size()));
}

// Of one head: the values themselves where nothing is known (all zero), floored and with a geometric mean of 1.
void normalise(std::span<float> head) {
    const double floor = kSmallestShare * root_mean_square(head);
    if (!(floor > 0)) {
        std::fill(head.begin(), head.end(), 1.0f);
        return;
    }
    double log_sum = 0;
    for (const float value : head) log_sum += std::log(std::max<double>(value, floor));
    const double mean = std::exp(log_sum / static_cast<double>(head.size()));
    for (float& value : head) value = static_cast<float>(std::max<double>(value, floor) / mean);
}

std::span<float> head_of(std::vector<float>& values, const HybridConfig& config, int head) {
    const auto dim = static_cast<size_t>(config.head_dim);
    return std::span<float>(values).subspan(static_cast<size_t>(head) * dim, dim);
}

// Both channels of a rotary pair get their common root mean square.
void share_in_pairs(const HybridConfig& config, std::span<float> head) {
    for (int j = 0; j < config.rope_dims / 2; ++j) {
        const auto a = static_cast<size_t>(j);
        const auto b = static_cast<size_t>(rotary_partner(config, j));
        head[a] = head[b] = static_cast<float>(std::hypot(double{head[a]}, double{head[b]}) / std::sqrt(2.0));
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Spread of a layer's keys if `factors` [head_dim] were multiplied in.
double spread_with(const HybridConfig& config, const LayerChannels& rms, const std::vector<double>& factors) {
    const size_t dim = factors.size();
    double largest = 0;
    for (size_t head = 0; head * dim < rms.k.size(); ++head) {
        std::vector<double> scaled(dim);
        for (size_t c = 0; c < dim; ++c) scaled[c] = rms.k[head * dim + c] * factors[c];
        const double middle = median(scaled);
        if (middle > 0) largest = std::max(largest, *std::max_element(scaled.begin(), scaled.end()) / middle);
    }
    return config.kv_heads > 0 ? largest : 0;
}

// 1 everywhere but on the outlier channels and their rotary partners.
std::vector<double> outlier_factors(const HybridConfig& config, double factor) {
    std::vector<double> factors(static_cast<size_t>(config.head_dim), 1.0);
    for (const int channel : kOutlierChannels) {
        if (channel >= config.head_dim) continue;
        factors[static_cast<size_t>(channel)] = factor;
        factors[static_cast<size_t>(rotary_partner(config, channel))] = factor;
    }
    return factors;
}

// The factor that gives a layer's keys the spread; bisection on its logarithm.
Result<double> outlier_factor(const HybridConfig& config, const LayerChannels& rms, double spread, size_t layer) {
    const auto reached = [&](double factor) { return spread_with(config, rms, outlier_factors(config, factor)); };
    if (!(spread >= reached(1) && spread <= reached(kLargestOutlier))) {  // not a number fails too
        return Error{
            ErrorKind::usage,
            fmt::format("Outlier channels cannot give attention layer {} a spread of {}: it has {:.2f} without "
                        "them and {:.2f} at most. Choose a spread between.",
                        layer, spread, reached(1), reached(kLargestOutlier))};
    }
    double low = 0;
    double high = std::log(kLargestOutlier);
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (reached(std::exp(middle)) < spread ? low : high) = middle;
    }
    return std::exp(high);
}

bool fits(const HybridConfig& config, const ChannelTable& table, bool values_may_be_empty) {
    const size_t floats = row_floats(config);
    return std::all_of(table.begin(), table.end(), [&](const LayerChannels& layer) {
        return layer.k.size() == floats && (layer.v.size() == floats || (values_may_be_empty && layer.v.empty()));
    });
}

bool positive(const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float value) { return value > 0 && std::isfinite(value); });
}

Status check_divisors(const Model& model, const ChannelTable& divisors) {
    if (static_cast<int>(divisors.size()) != model.config.attention_layers() || !fits(model.config, divisors, true)) {
        return Error{ErrorKind::input,
                     fmt::format("The channel factors are not those of {}: it has {} full-attention "
                                 "layers of {} channels.",
                                 model.name, model.config.attention_layers(), row_floats(model.config))};
    }
    for (const LayerChannels& layer : divisors) {
        if (positive(layer.k) && positive(layer.v)) continue;
        return Error{ErrorKind::input,
                     fmt::format("The channel factors for {} hold a number that is not above 0.", model.name)};
    }
    return {};
}

// Writes a layer's scaled vectors to `to`, points the weights there, and gives the end.
float* divide_layer(const HybridConfig& config, const LayerChannels& divisors, AttentionWeights& weights, float* to) {
    const auto dim = static_cast<size_t>(config.head_dim);
    const auto group = static_cast<size_t>(config.heads / config.kv_heads);
    float* const q_norm = to;
    float* const k_norm = q_norm + static_cast<size_t>(config.heads) * dim;
    float* const v_scale = k_norm + row_floats(config);
    for (size_t head = 0; head < static_cast<size_t>(config.heads); ++head) {
        for (size_t c = 0; c < dim; ++c) {
            q_norm[head * dim + c] = weights.q_norm[head * dim + c] * divisors.k[head / group * dim + c];
        }
    }
    for (size_t i = 0; i < row_floats(config); ++i) {
        k_norm[i] = weights.k_norm[i] / divisors.k[i];
        const float before = weights.v_scale == nullptr ? 1.0f : weights.v_scale[i];
        v_scale[i] = divisors.v.empty() ? before : before * divisors.v[i];
    }
    if (weights.v_scale != nullptr || !divisors.v.empty()) weights.v_scale = v_scale;
    weights.q_norm = q_norm;
    weights.k_norm = k_norm;
    return v_scale + row_floats(config);
}

}  // namespace

ChannelTable free_divisors(const Model& model) {
    ChannelTable table;
    for_each_attention(model.weights, [&](const AttentionWeights& weights) {
        LayerChannels layer;
        layer.k.resize(row_floats(model.config));
        for (size_t i = 0; i < layer.k.size(); ++i) {
            const size_t channel = i % static_cast<size_t>(model.config.head_dim);
            const auto partner = static_cast<size_t>(rotary_partner(model.config, static_cast<int>(channel)));
            const float own = std::max(std::fabs(weights.k_norm[i]), kSmallestWeight);
            const float other = std::max(std::fabs(weights.k_norm[i - channel + partner]), kSmallestWeight);
            layer.k[i] = partner == channel ? own : std::sqrt(own * other);
        }
        table.push_back(std::move(layer));
    });
    return table;
}

ChannelTable calibrated_divisors(const HybridConfig& config, const ChannelTable& rms) {
    ChannelTable divisors = rms;
    if (!fits(config, rms, false)) return divisors;  // divide_channels says so
    for (LayerChannels& layer : divisors) {
        for (int head = 0; head < config.kv_heads; ++head) {
            share_in_pairs(config, head_of(layer.k, config, head));
            normalise(head_of(layer.k, config, head));
            normalise(head_of(layer.v, config, head));
        }
    }
    return divisors;
}

Result<ChannelTable> outlier_divisors(const HybridConfig& config, const ChannelTable& rms, double spread) {
    if (!fits(config, rms, false)) {
        return Error{ErrorKind::input, "The channel measurements are not those of this model; measure them again."};
    }
    if (config.head_dim <= kOutlierChannels.front()) {
        return Error{ErrorKind::usage, fmt::format("Outlier channels begin at channel {}; this model's head_dim is {}.",
                                                   kOutlierChannels.front(), config.head_dim)};
    }
    ChannelTable divisors;
    for (const LayerChannels& layer : rms) {
        const Result<double> factor = outlier_factor(config, layer, spread, divisors.size());
        if (!factor) return factor.error();
        const std::vector<double> factors = outlier_factors(config, *factor);
        LayerChannels outliers;
        for (size_t i = 0; i < layer.k.size(); ++i) {
            outliers.k.push_back(static_cast<float>(1.0 / factors[i % factors.size()]));
        }
        divisors.push_back(std::move(outliers));
    }
    return divisors;
}

double channel_spread(const HybridConfig& config, const LayerChannels& rms) {
    return spread_with(config, rms, std::vector<double>(static_cast<size_t>(config.head_dim), 1.0));
}

ChannelTable divided_rms(ChannelTable rms, const ChannelTable& divisors) {
    const auto divide = [](std::vector<float>& values, const std::vector<float>& by) {
        for (size_t i = 0; i < std::min(values.size(), by.size()); ++i) values[i] /= by[i];
    };
    for (size_t layer = 0; layer < std::min(rms.size(), divisors.size()); ++layer) {
        divide(rms[layer].k, divisors[layer].k);
        divide(rms[layer].v, divisors[layer].v);
    }
    return rms;
}

Result<std::shared_ptr<const Model>> divide_channels(const std::shared_ptr<const Model>& model,
                                                     const ChannelTable& divisors) {
    if (Status status = check_divisors(*model, divisors); !status) return status.error();
    const HybridConfig& config = model->config;
    const size_t layer_floats =
        static_cast<size_t>(config.heads) * static_cast<size_t>(config.head_dim) + 2 * row_floats(config);
    Result<Buffer> buffer =
        Buffer::allocate(divisors.size() * layer_floats * sizeof(float), "the scaled norms of a model");
    if (!buffer) return buffer.error();
    const auto floats = std::make_shared<Buffer>(std::move(*buffer));

    auto scaled = std::make_shared<Model>(*model);
    float* to = floats->as<float>();
    auto divisor = divisors.begin();
    for (LayerWeights& layer : scaled->weights.layers) {
        if (layer.attention) to = divide_layer(config, *divisor++, *layer.attention, to);
    }
    if (!std::all_of(floats->as<float>(), to, [](float value) { return std::isfinite(value); })) {
        return Error{ErrorKind::input, fmt::format("The channels of {} cannot be scaled: its norm weights become too "
                                                   "large.",
                                                   model->name)};
    }
    scaled->owners.push_back(floats);
    return std::shared_ptr<const Model>(std::move(scaled));
}

Result<std::shared_ptr<const Model>> equalise_free(const std::shared_ptr<const Model>& model) {
    return divide_channels(model, free_divisors(*model));
}

Result<std::shared_ptr<const Model>> equalise_calibrated(const std::shared_ptr<const Model>& model,
                                                         const ChannelTable& rms) {
    return divide_channels(model, calibrated_divisors(model->config, rms));
}

Result<std::shared_ptr<const Model>> with_outliers(const std::shared_ptr<const Model>& model, double spread,
                                                   const ChannelTable& rms) {
    const Result<ChannelTable> divisors = outlier_divisors(model->config, rms, spread);
    if (!divisors) return divisors.error();
    return divide_channels(model, *divisors);
}

}  // namespace octavo
