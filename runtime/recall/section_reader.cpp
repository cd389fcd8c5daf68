#include "runtime/recall/section_reader.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "runtime/recall/score.h"

namespace octavo {
namespace {

constexpr const char* kSession = "the recall test";  // no conversation has such a name
constexpr int64_t kPassTokens = 512;
constexpr size_t kLeastAnswerTokens = 24;
constexpr size_t kSpareAnswerTokens = 12;

using Clock = std::chrono::steady_clock;

// Adds the time that it lived for.
class Stopwatch {
  public:
    explicit Stopwatch(double& seconds) : seconds_(seconds) {}
    ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

  private:
    double& seconds_;
    Clock::time_point start_ = Clock::now();
};

int32_t best_of(std::span<const float> logits) {
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

struct TokenRating {
    double log_probability = 0;
    int64_t rank = 1;
    double margin = 0;
};

TokenRating rate(std::span<const float> logits, int32_t id) {
    const float own = logits[static_cast<size_t>(id)];
    const float most = *std::max_element(logits.begin(), logits.end());
    float best_other = -std::numeric_limits<float>::infinity();
    TokenRating rating;
    double sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
        sum += std::exp(static_cast<double>(logits[i] - most));
        if (static_cast<int32_t>(i) == id) continue;
        best_other = std::max(best_other, logits[i]);
        if (logits[i] > own) ++rating.rank;
    }
    rating.log_probability = static_cast<double>(own - most) - std::log(sum);
    rating.margin = static_cast<double>(own) - static_cast<double>(best_other);
    return rating;
}

}  // namespace

SectionReader::SectionReader(Engine& engine, const RecallDocument& document, const KvSettings& kv)
    : engine_(engine), document_(document), kv_(kv) {}

SectionReader::~SectionReader() { engine_.close_session(kSession); }

int64_t SectionReader::vocab() const { return engine_.model().config.vocab; }

Status SectionReader::open(int64_t context_length) {
    return engine_.call(kSession, [&](Session& session) -> Status {
        session.clear();
        if (Status status = session.set_context_length(std::max(session.context_length(), context_length)); !status)
            return status;
        Job job;
        const KvChange change = session.change_kv(kv_, job);
        return change.error ? Status(*change.error) : Status();
    });
}

Result<bool> SectionReader::read_pass(int64_t first_row, ReferenceLogits* keep, const ReferenceLogits* compare) {
    const Stopwatch watch(document_cost_.seconds);
    const std::span<const int32_t> ids(document_.ids);
    const int64_t total = std::ssize(ids);
    const int64_t count = std::min(kPassTokens, total - read_);
    const int64_t rows_wanted =
        keep != nullptr || compare != nullptr ? std::clamp<int64_t>(read_ + count - first_row, 0, count) : 0;
    const auto take_rows = [&](int64_t position, int rows, const float* logits) {
        const auto width = static_cast<size_t>(vocab());
        if (keep != nullptr) keep->rows.insert(keep->rows.end(), logits, logits + static_cast<size_t>(rows) * width);
        for (int row = 0; compare != nullptr && row < rows; ++row) {
            const auto index = static_cast<size_t>(position + row - compare->first_position);
            const int64_t next = position + row + 1;
            positions_.push_back(compare_position({compare->rows.data() + index * width, width},
                                                  {logits + static_cast<size_t>(row) * width, width},
                                                  next < total ? ids[static_cast<size_t>(next)] : -1));
        }
    };
    const Status status = engine_.call(kSession, [&](Session& session) -> Status {
        Job job;
        const auto pass = ids.subspan(static_cast<size_t>(read_), static_cast<size_t>(count));
        if (Status read = session.append(pass, rows_wanted, take_rows, job); !read) return read;
        return read_ + count == total ? session.checkpoint_here() : Status();
    });
    if (!status) return status.error();
    read_ += count;
    document_cost_.tokens += count;
    return read_ == total;
}

std::optional<FidelityScores> SectionReader::fidelity() const {
    if (positions_.empty()) return std::nullopt;
    return score_positions(positions_, false);
}

Result<RecallAnswer> SectionReader::ask(const RecallQuestion& question, std::vector<float>* rows) {
    const bool is_control = question.purpose != RecallPurpose::score && question.purpose != RecallPurpose::zone;
    RecallSection::Cost& cost = is_control ? control_cost_ : question_cost_;
    const Stopwatch watch(cost.seconds);
    Prepared prepared;
    Result<std::vector<int32_t>> ids = question_ids(engine_.model(), question);
    if (!ids) return ids.error();
    prepared.question = std::move(*ids);
    ids = expected_ids(engine_.model(), question);
    if (!ids) return ids.error();
    prepared.expected = std::move(*ids);
    if (question.purpose == RecallPurpose::masked) prepared.masked = question.cells;

    RecallAnswer answer;
    answer.question = question;
    answer.zone = question.cells.size() > 0 ? recall_zone(kv_, question.cells, read_) : RecallZone::bulk;
    const Status status = engine_.call(kSession, [&](Session& session) -> Status {
        const Status asked = ask_on(session, prepared, answer, rows, cost);
        session.mask_cells(0, 0);
        return asked;
    });
    if (!status) return status.error();
    return answer;
}

// The question and the expected answer in one pass. Where the model would have said every token of it, that is its
// greedy answer; where it departs, it goes on by itself from there.
Status SectionReader::ask_on(Session& session, const Prepared& prepared, RecallAnswer& answer, std::vector<float>* rows,
                             RecallSection::Cost& cost) {
    if (Status status = session.restore(read_); !status) return status;
    session.mask_cells(prepared.masked.first, prepared.masked.size());
    std::vector<int32_t> ids = prepared.question;
    ids.insert(ids.end(), prepared.expected.begin(), prepared.expected.end());
    const auto width = static_cast<size_t>(vocab());
    std::vector<float> logits;
    const auto keep = [&](int64_t, int count, const float* values) {
        logits.insert(logits.end(), values, values + static_cast<size_t>(count) * width);
    };
    Job job;
    if (Status status = session.append(ids, std::ssize(prepared.expected) + 1, keep, job); !status) return status;
    cost.tokens += std::ssize(prepared.question);
    cost.answer_tokens += std::ssize(prepared.expected);

    ValueLikelihood likelihood{.worst_rank = 1, .least_margin = std::numeric_limits<double>::infinity()};
    size_t agreed = 0;
    for (size_t i = 0; i < prepared.expected.size(); ++i) {
        const std::span<const float> row(logits.data() + i * width, width);
        const TokenRating rating = rate(row, prepared.expected[i]);
        likelihood.mean_log_probability += rating.log_probability / static_cast<double>(prepared.expected.size());
        likelihood.worst_rank = std::max(likelihood.worst_rank, rating.rank);
        likelihood.least_margin = std::min(likelihood.least_margin, rating.margin);
        if (agreed == i && best_of(row) == prepared.expected[i]) ++agreed;
    }
    if (!prepared.expected.empty()) answer.likelihood = likelihood;
    if (rows != nullptr) *rows = logits;

    const bool all = agreed == prepared.expected.size();
    if (all && ends_turn(best_of({logits.data() + prepared.expected.size() * width, width}))) {
        const std::string text = decode(*engine_.model().tokenizer, prepared.expected);
        answer.text = trimmed_answer(text);
        const AnswerScore score = score_answer(answer.question, text, true);
        answer.outcome = score.outcome;
        answer.partial = score.partial;
        return {};
    }
    return decode_rest(session, prepared, agreed, answer, cost);
}

Status SectionReader::decode_rest(Session& session, const Prepared& prepared, size_t given, RecallAnswer& answer,
                                  RecallSection::Cost& cost) {
    if (Status status = session.restore(read_); !status) return status;
    std::vector<int32_t> ids = prepared.question;
    std::vector<int32_t> reply(prepared.expected.begin(), prepared.expected.begin() + static_cast<ptrdiff_t>(given));
    ids.insert(ids.end(), reply.begin(), reply.end());
    Job job;
    if (Status status = session.append(
            ids, 1, [](int64_t, int, const float*) {}, job);
        !status)
        return status;
    cost.tokens += std::ssize(prepared.question);
    cost.answer_tokens += static_cast<int64_t>(given);
    const size_t budget = std::max(kLeastAnswerTokens, prepared.expected.size() + kSpareAnswerTokens);
    bool ended = false;
    const Stopwatch watch(decode_cost_.seconds);
    while (reply.size() < budget) {
        const int32_t next = best_of(session.logits());
        ended = ends_turn(next);
        if (ended) break;
        reply.push_back(next);
        if (reply.size() == budget) break;
        if (Status status = session.decode(next); !status) return status;
        ++cost.answer_tokens;
        ++decode_cost_.answer_tokens;
    }
    const std::string text = decode(*engine_.model().tokenizer, reply);
    answer.text = trimmed_answer(text);
    const AnswerScore score = score_answer(answer.question, text, ended);
    answer.outcome = score.outcome;
    answer.partial = score.partial;
    return {};
}

bool SectionReader::ends_turn(int32_t id) const {
    const std::vector<int32_t>& stops = engine_.model().tokenizer->stop_ids();
    return std::find(stops.begin(), stops.end(), id) != stops.end();
}

Result<int64_t> SectionReader::cache_bytes() {
    return engine_.call(kSession, [](Session& session) -> Result<int64_t> {
        return session.cache().committed_bytes() + session.cache().copy_buffer_bytes();
    });
}

}  // namespace octavo
