#include "runtime/recall/recall_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/memory_platform.h"
#include "runtime/recall/facts.h"
#include "runtime/recall/model_hash.h"
#include "runtime/recall/section_reader.h"

namespace octavo {
namespace {

constexpr int64_t kQuestionTokens = 256;  // room behind a text for the longest question and its answer
constexpr int64_t kQuestionCost = 64;     // of a question, in tokens of the text, for the progress
constexpr int64_t kMostReferenceBytes = int64_t{512} << 20;
constexpr int kMostNeedles = 1000;

// bf16, or where the machine has no room for it, the largest scheme of the menu that fits.
KvSettings pick_reference(const Model& model, int64_t tokens) {
    const KvShape shape = kv_shape(model.config);
    const auto free_bytes = static_cast<int64_t>(available_memory_bytes());
    const KvScheme bf16{KvFormat::bf16, KvFormat::bf16};
    const auto fits = [&](const KvScheme& scheme) {
        return free_bytes == 0 || kv_bytes_per_token(shape, scheme) * tokens < free_bytes;
    };
    if (fits(bf16)) return default_kv_settings(bf16);
    KvScheme best = bf16;
    int64_t best_bytes = 0;
    for (const KvSchemeSpec& spec : kv_schemes()) {
        const KvScheme scheme{spec.k, spec.v};
        const int64_t bytes = kv_bytes_per_token(shape, scheme);
        if (spec.in_menu && fits(scheme) && bytes > best_bytes) best = scheme, best_bytes = bytes;
    }
    return default_kv_settings(best);
}

// The reference first.
std::vector<KvSettings> all_settings(const RecallPlan& plan) {
    std::vector<KvSettings> settings = {*plan.reference};
    settings.insert(settings.end(), plan.candidates.begin(), plan.candidates.end());
    return settings;
}

Result<RecallDocument> make_document_of(const Model& model, const RecallPlan& plan, int64_t length, uint64_t seed,
                                        bool bare) {
    if (bare) return make_bare_document(model, plan, length, seed);
    return make_document(model, plan, length, seed, bulk_cells(all_settings(plan), length));
}

// Checks what was asked for, before minutes of work, and fills in what was left open.
class Preparation {
  public:
    Preparation(const Engine& engine, const RecallPlan& plan) : engine_(engine) { report_.plan = plan; }

    Result<RecallReport> run() {
        if (Status status = settle_lengths(); !status) return status.error();
        if (Status status = settle_settings(); !status) return status.error();
        if (Status status = check_documents(); !status) return status.error();
        limit_fidelity_positions();
        report_.model = engine_.model().name;
        report_.model_hash = model_hash(engine_.model());
        report_.backend = engine_.info().backend;
        report_.equalise = engine_.info().equalise;
        return std::move(report_);
    }

  private:
    Status settle_lengths() {
        RecallPlan& plan = report_.plan;
        if (plan.needles < 1 || plan.needles > kMostNeedles)
            return Error{ErrorKind::usage,
                         fmt::format("{} needles were asked for; 1 to {} are possible.", plan.needles, kMostNeedles)};
        if (plan.lengths.empty() || plan.documents < 1)
            return Error{ErrorKind::usage, "The recall test needs at least one length and one document of it."};
        const int64_t context = engine_.model().config.context_length;
        const int64_t most = context - kQuestionTokens;
        for (int64_t& length : plan.lengths) {
            if (length < 1 || most < 1)
                return Error{ErrorKind::usage,
                             fmt::format("A text of {} tokens in a context of {} cannot be tested.", length, context)};
            if (length <= most) continue;
            report_.notes.push_back(
                fmt::format("A length of {} was cut to {}: the model's context is {} tokens, and "
                            "questions and answers need {}.",
                            length, most, context, kQuestionTokens));
            length = most;
        }
        std::sort(plan.lengths.begin(), plan.lengths.end());
        plan.lengths.erase(std::unique(plan.lengths.begin(), plan.lengths.end()), plan.lengths.end());
        return {};
    }

    Status settle_settings() {
        RecallPlan& plan = report_.plan;
        const Model& model = engine_.model();
        if (!plan.reference) plan.reference = pick_reference(model, plan.lengths.back());
        std::erase(plan.candidates, *plan.reference);
        const int64_t shortest = plan.lengths.front();
        for (const KvSettings& kv : all_settings(plan)) {
            if (kv.window > shortest)
                return Error{ErrorKind::usage,
                             fmt::format("{} keeps the newest {} tokens in FP16, and the shortest text has {}: nothing "
                                         "would be tested. Take longer texts, or a smaller window.",
                                         kv_scheme_name(kv.scheme), kv.window, shortest)};
            const Status fits = check_kv_settings(kv, kv_shape(model.config), shortest);
            if (!fits) return fits;
        }
        return {};
    }

    // That the needles and the text fit every length.
    Status check_documents() const {
        const RecallPlan& plan = report_.plan;
        for (const int64_t length : plan.lengths) {
            for (int i = 0; i < plan.documents; ++i) {
                const uint64_t seed = plan.seed + static_cast<uint64_t>(i);
                const auto document = make_document_of(engine_.model(), plan, length, seed, false);
                if (!document) return document.error();
            }
        }
        return {};
    }

    void limit_fidelity_positions() {
        const int64_t row_bytes = int64_t{engine_.model().config.vocab} * static_cast<int64_t>(sizeof(float));
        const int64_t most = std::max<int64_t>(1, kMostReferenceBytes / row_bytes);
        int64_t& wanted = report_.plan.fidelity_positions;
        if (wanted <= most) return;
        report_.notes.push_back(
            fmt::format("{} positions are compared with the reference instead of {}: their logits "
                        "take {} bytes each.",
                        most, wanted, row_bytes));
        wanted = most;
    }

    const Engine& engine_;
    RecallReport report_;
};

class RecallRunner {
  public:
    RecallRunner(Engine& engine, RecallReport prepared, const std::vector<RecallSection>& finished, Job& job,
                 const RecallListener& listener)
        : engine_(engine),
          finished_(finished),
          job_(job),
          listener_(listener),
          report_(std::move(prepared)),
          settings_(all_settings(report_.plan)) {}

    Result<RecallReport> run() {
        count_work();
        for (const int64_t length : plan().lengths) {
            for (int document = 0; document < plan().documents; ++document) {
                const uint64_t seed = plan().seed + static_cast<uint64_t>(document);
                const bool with_bare = plan().controls && length == plan().lengths.front() && document == 0;
                if (Status status = run_document(length, seed, false); !status) return ended(status.error());
                if (!with_bare) continue;
                if (Status status = run_document(length, seed, true); !status) return ended(status.error());
            }
        }
        return std::move(report_);
    }

  private:
    const RecallPlan& plan() const { return report_.plan; }

    Result<RecallReport> ended(const Error& error) {
        if (error.kind != ErrorKind::cancelled) return error;
        report_.cancelled = true;
        return std::move(report_);
    }

    void count_work() {
        const auto settings = std::ssize(settings_);
        for (const int64_t length : plan().lengths)
            total_cost_ += settings * plan().documents * (length + questions_cost());
        if (plan().controls) total_cost_ += settings * plan().lengths.front();
    }
    // Of one document; with controls, most questions are asked twice.
    int64_t questions_cost() const {
        return (plan().controls ? 2 : 1) * std::ssize(make_facts(plan(), plan().seed).questions) * kQuestionCost;
    }

    Status run_document(int64_t length, uint64_t seed, bool bare) {
        const Result<RecallDocument> document = make_document_of(engine_.model(), plan(), length, seed, bare);
        if (!document) return document.error();
        ReferenceLogits reference;
        reference.first_position = std::max<int64_t>(0, length - plan().fidelity_positions);
        const bool compares = !bare && plan().fidelity_positions > 0 && settings_.size() > 1;
        if (compares)
            reference.rows.reserve(static_cast<size_t>(length - reference.first_position) *
                                   static_cast<size_t>(engine_.model().config.vocab));
        const bool all_finished = std::all_of(settings_.begin(), settings_.end(), [&](const KvSettings& kv) {
            return find_finished(kv, length, seed, bare) != nullptr;
        });
        for (const KvSettings& kv : settings_) {
            const bool is_reference = kv == settings_.front();
            const RecallSection* finished = find_finished(kv, length, seed, bare);
            // A finished reference is read again where others are still to be compared with it.
            if (finished == nullptr || (is_reference && compares && !all_finished)) {
                ReferenceLogits* keep = compares && is_reference ? &reference : nullptr;
                const ReferenceLogits* compare = compares && !is_reference ? &reference : nullptr;
                if (Status status = run_section(*document, kv, {length, seed, bare}, finished, keep, compare); !status)
                    return status;
            } else {
                cost_ += length + (bare ? 0 : questions_cost());
                add(*finished);
            }
        }
        return {};
    }

    const RecallSection* find_finished(const KvSettings& kv, int64_t length, uint64_t seed, bool bare) const {
        const auto found = std::find_if(finished_.begin(), finished_.end(), [&](const RecallSection& section) {
            return section.kv == kv && section.length == length && section.seed == seed && section.bare == bare;
        });
        return found == finished_.end() ? nullptr : &*found;
    }

    struct Where {
        int64_t length;
        uint64_t seed;
        bool bare;
    };

    Status run_section(const RecallDocument& document, const KvSettings& kv, const Where& where,
                       const RecallSection* finished, ReferenceLogits* keep, const ReferenceLogits* compare) {
        SectionReader reader(engine_, document, kv);
        if (Status status = reader.open(where.length + kQuestionTokens); !status) return status;
        for (bool done = false; !done;) {
            if (Status status = go_on(); !status) return status;
            const int64_t before = reader.document_cost().tokens;
            const int64_t first_row = std::max<int64_t>(0, where.length - plan().fidelity_positions);
            const Result<bool> read = reader.read_pass(first_row, keep, compare);
            if (!read) return read.error();
            done = *read;
            spend(reader.document_cost().tokens - before);
        }
        if (finished != nullptr) {
            add(*finished);
            return {};
        }
        RecallSection section;
        section.kv = kv;
        section.is_reference = kv == settings_.front();
        section.bare = where.bare;
        section.length = where.length;
        section.seed = where.seed;
        section.prompt_hash = document.hash;
        section.fidelity = reader.fidelity();
        if (Status status = ask_all(reader, document, section); !status) return status;
        section.bytes_per_token = kv_bytes_per_token(kv_shape(engine_.model().config), kv.scheme);
        const Result<int64_t> bytes = reader.cache_bytes();
        if (!bytes) return bytes.error();
        section.cache_bytes = *bytes;
        section.document = reader.document_cost();
        section.questions = reader.question_cost();
        section.controls = reader.control_cost();
        section.decoding = reader.decode_cost();
        add(std::move(section));
        return {};
    }

    Status ask_all(SectionReader& reader, const RecallDocument& document, RecallSection& section) {
        const CellRange bulk = bulk_cells(settings_, section.length);
        const auto scored = [&bulk](const RecallQuestion& question) {
            const bool in_bulk = question.cells.first >= bulk.first && question.cells.end <= bulk.end;
            return question.purpose == RecallPurpose::score && (question.cells.size() == 0 || in_bulk);
        };
        for (const RecallQuestion& question : document.questions) {
            if (Status status = ask(reader, question, scored(question), section); !status) return status;
        }
        if (!plan().controls || section.bare) return {};
        for (const RecallQuestion& question : document.questions) {
            if (!scored(question) || question.cells.size() == 0) continue;
            RecallQuestion masked = question;
            masked.purpose = RecallPurpose::masked;
            if (Status status = ask(reader, masked, false, section); !status) return status;
        }
        return {};
    }

    Status ask(SectionReader& reader, const RecallQuestion& question, bool scored, RecallSection& section) {
        if (Status status = go_on(); !status) return status;
        std::vector<float> rows;
        Result<RecallAnswer> answer = reader.ask(question, &rows);
        if (!answer) return answer.error();
        if (!section.repeat_identical) {
            std::vector<float> again;
            const Result<RecallAnswer> repeated = reader.ask(question, &again);
            if (!repeated) return repeated.error();
            section.repeat_identical = rows == again && repeated->text == answer->text;
        }
        answer->scored = scored;
        section.answers.push_back(std::move(*answer));
        spend(kQuestionCost);
        return {};
    }

    Status go_on() const {
        return job_.cancelled() ? Status(Error{ErrorKind::cancelled, "The recall test was stopped."}) : Status();
    }
    void spend(int64_t cost) {
        cost_ += cost;
        job_.report(std::min(cost_, total_cost_), total_cost_);
    }
    void add(RecallSection section) {
        report_.sections.push_back(std::move(section));
        if (listener_) listener_(report_);
    }

    Engine& engine_;
    const std::vector<RecallSection>& finished_;
    Job& job_;
    const RecallListener& listener_;
    RecallReport report_;
    std::vector<KvSettings> settings_;
    int64_t cost_ = 0;
    int64_t total_cost_ = 0;
};

}  // namespace

Result<RecallReport> prepare_recall(const Engine& engine, const RecallPlan& plan) {
    return Preparation(engine, plan).run();
}

Result<RecallReport> run_recall(Engine& engine, const RecallRequest& request, Job& job,
                                const RecallListener& listener) {
    Result<RecallReport> prepared = prepare_recall(engine, request.plan);
    if (!prepared) return prepared.error();
    return RecallRunner(engine, std::move(*prepared), request.finished, job, listener).run();
}

}  // namespace octavo
