#include "runtime/verify/logits.h"

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

const char* const kSessionName = "logits check";

size_t best_token(std::span<const float> logits) {
    return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Result<std::vector<float>> logits_of_new_engine(Result<std::unique_ptr<Engine>> engine,
                                                const std::vector<int32_t>& ids) {
    if (!engine) return engine.error();
    return all_logits(**engine, ids, 0);
}

}  // namespace

Result<std::vector<float>> all_logits(Engine& engine, const std::vector<int32_t>& ids, int64_t part) {
    const auto vocab = static_cast<size_t>(engine.model().config.vocab);
    std::vector<float> all;
    all.reserve(ids.size() * vocab);
    const Status status = engine.call(kSessionName, [&](Session& session) -> Status {
        Job job;
        session.clear();
        const size_t step = part > 0 ? static_cast<size_t>(part) : ids.size();
        for (size_t at = 0; at < ids.size(); at += step) {
            const auto piece = std::span<const int32_t>(ids).subspan(at, std::min(step, ids.size() - at));
            const auto keep = [&](int64_t, int rows, const float* logits) {
                all.insert(all.end(), logits, logits + static_cast<size_t>(rows) * vocab);
            };
            const Status done = session.append(piece, static_cast<int64_t>(piece.size()), keep, job);
            if (!done) return done;
        }
        return {};
    });
    if (!status) return status.error();
    return all;
}

double relative_rms_difference(std::span<const float> expected, std::span<const float> actual) {
    double difference = 0;
    double size = 0;
    for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
        const double error = static_cast<double>(actual[i]) - static_cast<double>(expected[i]);
        difference += error * error;
        size += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    }
    return std::sqrt(difference / size);  // NaN where a logit is: no tolerance holds then
}

Result<LogitDifference> compare_with_reference(std::shared_ptr<const Model> model, const EngineOptions& options,
                                               const std::vector<int32_t>& ids) {
    const auto expected = logits_of_new_engine(Engine::create(model, options, make_reference_backend()), ids);
    if (!expected) return expected.error();
    const auto actual = logits_of_new_engine(Engine::create(model, options), ids);
    if (!actual) return actual.error();

    const auto vocab = static_cast<size_t>(model->config.vocab);
    const auto row = [vocab](const std::vector<float>& all, size_t position) {
        return std::span<const float>(all).subspan(position * vocab, vocab);
    };
    LogitDifference result;
    double worst = 0;
    for (size_t position = 0; position < ids.size(); ++position) {
        const double difference = relative_rms_difference(row(*expected, position), row(*actual, position));
        if (difference > worst) {
            worst = difference;
            result.worst_position = static_cast<int64_t>(position);
        }
    }
    result.relative_rms = relative_rms_difference(*expected, *actual);
    result.same_best_token = best_token(row(*expected, ids.size() - 1)) == best_token(row(*actual, ids.size() - 1));
    return result;
}

}  // namespace octavo
