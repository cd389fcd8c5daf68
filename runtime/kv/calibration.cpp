#include "runtime/kv/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "models/hybrid/placed_weights.h"
#include "runtime/kv/calibration_file.h"
#include "runtime/kv/calibration_text.h"
#include "runtime/session.h"

namespace octavo {
namespace {

constexpr int kPassTokens = 512;
constexpr int64_t kBlockCells = 512;  // read back at a time

// Sums of squares in double, then roots.
class SquareSums {
  public:
    explicit SquareSums(size_t channels) : sums_(channels) {}
    void add(const float* rows, int64_t count) {
        for (int64_t row = 0; row < count; ++row) {
            for (double& sum : sums_) sum += double{*rows} * *rows, ++rows;
        }
    }
    std::vector<float> roots(int64_t count) const {
        std::vector<float> roots;
        for (const double sum : sums_) roots.push_back(static_cast<float>(std::sqrt(sum / static_cast<double>(count))));
        return roots;
    }

  private:
    std::vector<double> sums_;
};

LayerChannels layer_rms(const KvView& view, int64_t cells, Backend& backend, float* scratch) {
    const size_t channels = static_cast<size_t>(view.kv_heads) * static_cast<size_t>(view.head_dim);
    SquareSums k(channels);
    SquareSums v(channels);
    KvRows rows{view, 0, 0, scratch, scratch + kBlockCells * static_cast<int64_t>(channels)};
    Memory& memory = backend.memory();
    std::vector<float> row_values(2 * static_cast<size_t>(kBlockCells) * channels);  // K, then V, as in scratch
    for (; rows.first_cell < cells; rows.first_cell += rows.tokens) {
        rows.tokens = static_cast<int>(std::min(kBlockCells, cells - rows.first_cell));
        backend.kv_load(rows, cells - 1);
        memory.download(row_values.data(), rows.k, row_values.size() * sizeof(float));
        k.add(row_values.data(), rows.tokens);
        v.add(row_values.data() + kBlockCells * static_cast<int64_t>(channels), rows.tokens);
    }
    return {k.roots(cells), v.roots(cells)};
}

// A short run of the model's own: f32 cache, no checkpoints.
SessionOptions plain_options(int64_t tokens) {
    SessionOptions options;
    options.kv.scheme = {KvFormat::f32, KvFormat::f32};
    options.context_length = tokens;
    options.prefill_chunk = kPassTokens;
    options.checkpoint_interval = tokens + 1;
    options.checkpoint_budget_bytes = 0;
    return options;
}

uint64_t next_random(uint64_t& state) {  // SplitMix64
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

}  // namespace

std::vector<int32_t> calibration_ids(const Model& model, int64_t count) {
    const auto wanted = static_cast<size_t>(std::clamp<int64_t>(count, 1, model.config.context_length));
    std::vector<int32_t> ids;
    // A paragraph that gives no tokens ends the text: the vocabulary has no use for it.
    for (int paragraph = 0; model.tokenizer && ids.size() < wanted; ++paragraph) {
        const Result<std::vector<int32_t>> more = model.tokenizer->encode_text(calibration_paragraph(paragraph));
        if (!more || more->empty()) break;
        ids.insert(ids.end(), more->begin(), more->end());
    }
    uint64_t state = 1;
    while (ids.size() < wanted) {
        ids.push_back(static_cast<int32_t>(next_random(state) % static_cast<uint64_t>(model.config.vocab)));
    }
    ids.resize(wanted);
    return ids;
}

Result<ChannelTable> measure_channels(const Model& model, Backend& backend, std::span<const int32_t> ids, Job& job) {
    if (ids.empty()) return Error{ErrorKind::usage, "There is no text to measure the channels on."};
    const Result<PlacedWeights> weights = place_weights(model.config, model.weights, backend);
    if (!weights) return weights.error();
    Result<Forward> forward = Forward::create(model.config, weights->weights, backend, kPassTokens);
    if (!forward) return forward.error();
    const auto tokens = static_cast<int64_t>(ids.size());
    Result<std::unique_ptr<Session>> session = Session::create(model.config, *forward, plain_options(tokens));
    if (!session) return session.error();
    const Result<PrefillReport> report = (*session)->prefill(ids, {}, job);
    if (!report) return report.error();
    if (report->cancelled) return Error{ErrorKind::cancelled, "Measuring the model's channels was cancelled."};

    const KvCache& cache = (*session)->cache();
    const auto floats = static_cast<size_t>(2 * kBlockCells * cache.shape().kv_heads * cache.shape().head_dim);
    const Result<Buffer> scratch = backend.memory().allocate(floats * sizeof(float), "the measurement of the channels");
    if (!scratch) return scratch.error();
    ChannelTable rms;
    for (int layer = 0; layer < cache.shape().layers; ++layer) {
        rms.push_back(layer_rms(cache.view(layer), tokens, backend, scratch->as<float>()));
    }
    return rms;
}

Result<Calibration> calibrate(const Model& model, Backend& backend, const std::filesystem::path& folder, Job& job) {
    Calibration calibration;
    const std::vector<int32_t> ids = calibration_ids(model);
    const CalibrationFile file(model, ids, folder);
    if (Result<std::optional<ChannelTable>> kept = file.read(); !kept) {
        calibration.notes.push_back(kept.error().message);
    } else if (*kept) {
        calibration.rms = std::move(**kept);
        return calibration;
    }
    const auto start = std::chrono::steady_clock::now();
    Result<ChannelTable> measured = measure_channels(model, backend, ids, job);
    if (!measured) return measured.error();
    calibration.rms = std::move(*measured);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    calibration.notes.push_back(fmt::format("Measured the channels of {}'s keys and values on {} tokens in {:.1f} s.",
                                            model.name, ids.size(), seconds));
    if (Status status = file.write(calibration.rms); !status) calibration.notes.push_back(status.error().message);
    return calibration;
}

Result<PreparedModel> prepare_channels(std::shared_ptr<const Model> model, const ChannelOptions& options,
                                       Backend& backend, Job& job) {
    PreparedModel prepared{std::move(model), {}};
    const bool outliers = options.outlier_spread != 0;
    if (outliers && !(options.outlier_spread >= 1 && std::isfinite(options.outlier_spread))) {
        return Error{ErrorKind::usage, fmt::format("Outlier channels of spread {} were asked for; it is the largest "
                                                   "channel over the median, so it is 1 or more.",
                                                   options.outlier_spread)};
    }
    ChannelTable rms;
    if (outliers || options.equalise == KvEqualise::calibrated) {
        Result<Calibration> calibration = calibrate(*prepared.model, backend, options.folder, job);
        if (!calibration) return calibration.error();
        rms = std::move(calibration->rms);
        prepared.notes = std::move(calibration->notes);
    }
    const auto divide = [&](const ChannelTable& divisors) -> Status {
        Result<std::shared_ptr<const Model>> divided = divide_channels(prepared.model, divisors);
        if (!divided) return divided.error();
        prepared.model = std::move(*divided);
        rms = divided_rms(std::move(rms), divisors);
        return {};
    };
    if (outliers) {
        const Result<ChannelTable> divisors = outlier_divisors(prepared.model->config, rms, options.outlier_spread);
        if (!divisors) return divisors.error();
        if (Status status = divide(*divisors); !status) return status.error();
    }
    Status status;
    if (options.equalise == KvEqualise::free) status = divide(free_divisors(*prepared.model));
    if (options.equalise == KvEqualise::calibrated) status = divide(calibrated_divisors(prepared.model->config, rms));
    if (!status) return status.error();
    return prepared;
}

}  // namespace octavo
