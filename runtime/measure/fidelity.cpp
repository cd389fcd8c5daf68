#include "runtime/measure/fidelity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace octavo {
namespace {

constexpr size_t kSideBySide = 8;                        // candidates beside one run of the reference
constexpr int64_t kBlockLogitBytes = int64_t{16} << 20;  // a block's logits; its probabilities take as much
constexpr int64_t kMostBlockTokens = 512;

// A row of logits as a distribution: probability of i = exp(logits[i] - log_sum).
struct Distribution {
    double log_sum = 0;  // NaN where a logit is
    int64_t best = 0;
};

Distribution distribution_of(std::span<const float> logits) {
    const auto best = std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - *best);
    return {*best + std::log(sum), best - logits.begin()};
}

// The reference's row, prepared once for all candidates.
struct ReferenceRow {
    std::span<const float> logits;
    std::span<const float> probabilities;
    Distribution distribution;
};

void fill_probabilities(std::span<const float> logits, const Distribution& distribution, std::span<float> out) {
    const auto log_sum = static_cast<float>(distribution.log_sum);
    for (size_t i = 0; i < logits.size(); ++i) out[i] = std::exp(logits[i] - log_sum);
}

PositionFidelity compare(const ReferenceRow& reference, std::span<const float> candidate, int32_t next) {
    const Distribution other = distribution_of(candidate);
    const double shift = other.log_sum - reference.distribution.log_sum;
    double kl = 0;
    for (size_t i = 0; i < candidate.size(); ++i) {
        const double log_ratio = static_cast<double>(reference.logits[i]) - static_cast<double>(candidate[i]) + shift;
        kl += reference.probabilities[i] * log_ratio;
    }
    PositionFidelity result;
    // Rounding may leave a divergence of nothing slightly below 0.
    result.kl = std::isnan(kl) ? std::numeric_limits<double>::infinity() : std::max(0.0, kl);
    result.same_best = reference.distribution.best == other.best;
    if (next >= 0) result.next_log_probability = candidate[static_cast<size_t>(next)] - other.log_sum;
    return result;
}

// The reference's logits of one block of positions.
class ReferenceBlock {
  public:
    ReferenceBlock(int64_t most_rows, size_t vocab)
        : vocab_(vocab), logits_(static_cast<size_t>(most_rows) * vocab), probabilities_(logits_.size()) {}

    void start(int64_t first_position) {
        first_position_ = first_position;
        distributions_.clear();
    }
    // Rows arrive in order.
    void add(int count, const float* logits) {
        for (int row = 0; row < count; ++row) {
            const size_t at = distributions_.size() * vocab_;
            std::copy_n(logits + static_cast<size_t>(row) * vocab_, vocab_,
                        logits_.begin() + static_cast<std::ptrdiff_t>(at));
            const std::span<const float> kept(logits_.data() + at, vocab_);
            distributions_.push_back(distribution_of(kept));
            fill_probabilities(kept, distributions_.back(), {probabilities_.data() + at, vocab_});
        }
    }
    ReferenceRow row(int64_t position) const {
        const auto index = static_cast<size_t>(position - first_position_);
        return {{logits_.data() + index * vocab_, vocab_},
                {probabilities_.data() + index * vocab_, vocab_},
                distributions_[index]};
    }

  private:
    size_t vocab_;
    int64_t first_position_ = 0;
    std::vector<float> logits_;                // [rows][vocab]
    std::vector<float> probabilities_;         // [rows][vocab]
    std::vector<Distribution> distributions_;  // [rows]
};

// One setting's way through the text: a session of its own on the engine.
struct Run {
    std::string session;
    KvSettings kv;
    std::vector<PositionFidelity> positions;
};

class FidelityMeasurement {
  public:
    FidelityMeasurement(Engine& engine, const FidelityRequest& request, Job& job)
        : engine_(engine),
          request_(request),
          job_(job),
          vocab_(static_cast<size_t>(engine.model().config.vocab)),
          block_tokens_(std::clamp<int64_t>(kBlockLogitBytes / static_cast<int64_t>(vocab_ * sizeof(float)), 1,
                                            kMostBlockTokens)),
          block_(block_tokens_, vocab_) {}

    Result<FidelityReport> run() {
        const size_t count = request_.candidates.size();
        const size_t groups = std::max<size_t>(1, (count + kSideBySide - 1) / kSideBySide);
        total_tokens_ = static_cast<int64_t>((groups + count) * request_.ids.size());
        FidelityReport report;
        for (size_t group = 0; group < groups; ++group) {
            const size_t first = group * kSideBySide;
            std::vector<Run> runs = {{"fidelity reference", request_.reference, {}}};
            for (size_t i = first; i < std::min(first + kSideBySide, count); ++i)
                runs.push_back({fmt::format("fidelity {}", i), request_.candidates[i], {}});
            const Status status = read_text(runs);
            for (const Run& run : runs) engine_.close_session(run.session);
            if (!status) return status.error();
            report.reference = row_of(runs.front());
            for (size_t i = 1; i < runs.size(); ++i) report.rows.push_back(row_of(runs[i]));
        }
        return report;
    }

  private:
    Status read_text(std::vector<Run>& runs) {
        for (const Run& run : runs) {
            if (Status status = open(run); !status) return status;
        }
        const auto total = static_cast<int64_t>(request_.ids.size());
        for (int64_t first = 0; first < total; first += block_tokens_) {
            const int64_t count = std::min(block_tokens_, total - first);
            block_.start(first);
            for (Run& run : runs) {
                if (job_.cancelled()) return Error{ErrorKind::cancelled, "The comparison was stopped."};
                if (Status status = read_block(run, &run == &runs.front(), first, count); !status) return status;
                tokens_read_ += count;
                job_.report(tokens_read_, total_tokens_);
            }
        }
        return {};
    }

    Status open(const Run& run) {
        return engine_.call(run.session, [&](Session& session) -> Status {
            session.clear();
            Job job;
            const KvChange change = session.change_kv(run.kv, job);
            return change.error ? Status(*change.error) : Status();
        });
    }

    Status read_block(Run& run, bool is_reference, int64_t first, int64_t count) {
        const auto take = [&](int64_t position, int rows, const float* logits) {
            if (is_reference) block_.add(rows, logits);
            for (int row = 0; row < rows; ++row) {
                const std::span<const float> of_row(logits + static_cast<size_t>(row) * vocab_, vocab_);
                run.positions.push_back(compare(block_.row(position + row), of_row, next_token(position + row)));
            }
        };
        return engine_.call(run.session, [&](Session& session) {
            Job job;  // a block is a pass or two: the caller looks for a cancel in between
            const std::span<const int32_t> ids(request_.ids);
            return session.append(ids.subspan(static_cast<size_t>(first), static_cast<size_t>(count)), count, take,
                                  job);
        });
    }

    int32_t next_token(int64_t position) const {
        const auto next = static_cast<size_t>(position + 1);
        return next < request_.ids.size() ? request_.ids[next] : -1;
    }

    static FidelityRow row_of(const Run& run) {
        const std::span<const PositionFidelity> all = run.positions;
        FidelityRow row;
        row.kv = run.kv;
        row.all = score_positions(all, false);
        for (size_t b = 0; b < kFidelityBuckets; ++b) {
            const size_t first = all.size() * b / kFidelityBuckets;
            const size_t end = all.size() * (b + 1) / kFidelityBuckets;
            row.buckets[b] = score_positions(all.subspan(first, end - first), end < all.size());
        }
        return row;
    }

    Engine& engine_;
    const FidelityRequest& request_;
    Job& job_;
    size_t vocab_;
    int64_t block_tokens_;
    ReferenceBlock block_;
    int64_t tokens_read_ = 0;
    int64_t total_tokens_ = 0;
};

}  // namespace

PositionFidelity compare_position(std::span<const float> reference, std::span<const float> candidate, int32_t next) {
    const Distribution distribution = distribution_of(reference);
    std::vector<float> probabilities(reference.size());
    fill_probabilities(reference, distribution, probabilities);
    return compare({reference, probabilities, distribution}, candidate, next);
}

FidelityScores score_positions(std::span<const PositionFidelity> positions, bool last_has_next) {
    FidelityScores scores;
    scores.positions = std::ssize(positions);
    if (positions.empty()) return scores;
    const auto count = static_cast<double>(positions.size());
    std::vector<double> kl;
    double log_probability = 0;
    for (const PositionFidelity& position : positions) {
        kl.push_back(position.kl);
        scores.mean_kl += position.kl / count;
        scores.top1 += position.same_best ? 1 : 0;
        log_probability += position.next_log_probability;
    }
    scores.top1 /= count;
    std::sort(kl.begin(), kl.end());
    const auto at_share = [&kl, count](double share) {
        return kl[static_cast<size_t>(std::clamp(std::ceil(share * count) - 1, 0.0, count - 1))];
    };
    scores.median_kl = at_share(0.5);
    scores.kl_999 = at_share(0.999);
    scores.perplexity = std::exp(-log_probability / std::max(1.0, last_has_next ? count : count - 1));
    return scores;
}

Result<FidelityReport> measure_fidelity(Engine& engine, const FidelityRequest& request, Job& job) {
    if (request.ids.size() < 2) return Error{ErrorKind::usage, "A text of at least two tokens is needed to compare."};
    return FidelityMeasurement(engine, request, job).run();
}

}  // namespace octavo
