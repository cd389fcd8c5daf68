#include "app/desktop/recall_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/desktop/list_controller.h"
#include "app/desktop/recall_view.h"
#include "app/recall/recall_json.h"
#include "app/recall/recall_table.h"
#include "app/recall/thresholds.h"
#include "app/size_text.h"
#include "runtime/kv/scheme_quality.h"

namespace octavo {
namespace {

constexpr int64_t kLengths[] = {4096, 16384, 65536, 131072};
constexpr int64_t kWindows[] = {0, 128, 512, 1024};
// What questions and answers take beside the text.
constexpr int64_t kQuestionRoom = 1024;
// From here on low-bit formats without a window have been seen to break while short texts look well.
constexpr int64_t kLongText = 32768;
constexpr double kHighError = 1e-2;  // mean KL

std::string length_text(int64_t tokens) {
    return tokens % 1024 == 0 ? fmt::format("{}K", tokens / 1024) : group_digits(tokens);
}

std::string history_text(const RecallRunSummary& run) {
    const std::string lengths = run.min_length == run.max_length
                                    ? length_text(run.max_length)
                                    : length_text(run.min_length) + " to " + length_text(run.max_length);
    return fmt::format("{}, {}", run.scheme, lengths);
}

std::vector<KvSettings> candidates(const KvSettings& present, bool window_sweep) {
    if (!window_sweep || present.scheme.raw()) return {present};
    std::vector<KvSettings> all;
    for (const int64_t window : kWindows) {
        all.push_back(present);
        all.back().window = window;
    }
    return all;
}

}  // namespace

RecallController::RecallController(const Services& services, const ChatController& chat, const ModelController& model,
                                   std::function<void()> changed)
    : services_(services), chat_(chat), model_(model), changed_(std::move(changed)) {
    refresh();
}

void RecallController::refresh() {
    services_.ask_store(
        [](Store& store) { return store.recall_runs(); },
        [this](Result<std::vector<RecallRunSummary>> runs) {
            history_.clear();
            if (!runs) return;
            for (const RecallRunSummary& run : *runs)
                history_.push_back({run.id, history_text(run), calendar_text(run.created_ms, services_.now_ms()).time});
            changed_();
        });
}

void RecallController::start(const action::StartRecall& wanted) {
    if (running_ || !model_.loaded()) return;
    RecallPlan plan;
    plan.candidates = candidates(chat_.settings().cache.kv, wanted.window_sweep);
    if (!wanted.with_reference) {
        plan.reference = plan.candidates.front();
        plan.fidelity_positions = 0;
    }
    plan.lengths = wanted.lengths;
    plan.needles = wanted.questions;
    running_ = true;
    stopping_ = false;
    error_.clear();
    progress_ = {};
    started_ms_ = services_.now_ms();
    shown_.reset();
    services_.engine.run_recall(std::move(plan));
    changed_();
}

void RecallController::stop() {
    if (!running_) return;
    stopping_ = true;
    services_.engine.stop_recall();
    changed_();
}

void RecallController::on(const RecallProgressed& event) {
    progress_ = event.tokens;
    if (event.so_far) show(*event.so_far, false, 0, services_.now_ms());
    changed_();
}

void RecallController::on(const RecallEnded& event) {
    running_ = stopping_ = false;
    if (!event.report) {
        error_ = event.report.error().message;
    } else if (event.report->sections.empty()) {
        services_.notices.add(NoticeKind::information, "The recall check was stopped before it had a result.",
                              "recall");
    } else {
        show(*event.report, !event.report->cancelled, 0, services_.now_ms());
        keep(*event.report);
    }
    changed_();
}

void RecallController::show(const RecallReport& report, bool complete, int64_t id, int64_t created_ms) {
    RecallRunView view = recall_view(report, complete);
    view.id = id;
    view.time_text = calendar_text(created_ms, services_.now_ms()).time;
    shown_ = std::make_shared<const RecallRunView>(std::move(view));
}

void RecallController::keep(const RecallReport& report) {
    RecallRun run;
    run.summary.model = report.model;
    run.summary.scheme =
        describe_kv_settings(report.plan.candidates.empty() ? KvSettings{} : report.plan.candidates.front());
    const auto [least, most] = std::minmax_element(report.plan.lengths.begin(), report.plan.lengths.end());
    if (least != report.plan.lengths.end()) {
        run.summary.min_length = *least;
        run.summary.max_length = *most;
    }
    run.report = recall_json_text(report, {});
    services_.ask_store([run = std::move(run)](Store& store) { return store.add_recall_run(run); },
                        [this, shown = shown_](Result<int64_t> id) {
                            if (!id) {
                                services_.notices.add(NoticeKind::error, id.error().message, "recall");
                                return changed_();
                            }
                            if (shown == shown_) {
                                auto stored = std::make_shared<RecallRunView>(*shown);
                                stored->id = *id;
                                shown_ = std::move(stored);
                            }
                            refresh();
                        });
}

void RecallController::open(int64_t run) {
    if (running_) return;
    services_.ask_store([run](Store& store) { return store.recall_run(run); },
                        [this](Result<RecallRun> run) {
                            Result<RecallReport> report = run ? recall_report_of(run->report) : run.error();
                            error_ = report ? "" : report.error().message;
                            if (report) show(*report, !report->cancelled, run->summary.id, run->summary.created_ms);
                            changed_();
                        });
}

void RecallController::remove(int64_t run) {
    if (shown_ && shown_->id == run) shown_.reset();
    services_.store.post([run](Store& store) { return store.delete_recall_run(run); });
    refresh();
    changed_();
}

std::string RecallController::begin_export(const action::ExportRecallRun& wanted) {
    export_ = wanted;
    return wanted.format == action::RecallExportFormat::json ? "recall.json" : "recall.csv";
}

void RecallController::export_text(std::function<void(std::string)> then) {
    services_.ask_store([id = export_.id](Store& store) { return store.recall_run(id); },
                        [this, format = export_.format, then = std::move(then)](Result<RecallRun> run) {
                            if (!run) return services_.notices.add(NoticeKind::error, run.error().message, "recall");
                            if (format == action::RecallExportFormat::json) return then(run->report);
                            const Result<RecallReport> report = recall_report_of(run->report);
                            if (!report)
                                return services_.notices.add(NoticeKind::error, report.error().message, "recall");
                            then(recall_csv(*report));
                        });
}

double RecallController::seconds_left() const {
    if (progress_.total <= 0 || progress_.done <= 0) return -1;
    const double passed = static_cast<double>(services_.now_ms() - started_ms_) / 1000;
    const double share = static_cast<double>(progress_.done) / static_cast<double>(progress_.total);
    return share > 0.02 ? passed / share - passed : -1;
}

void RecallController::fill(RecallState& state) const {
    state.available = model_.loaded() && !model_.loading();
    if (!state.available) state.unavailable = "Load a model to check what it finds in long texts.";
    state.running = running_;
    state.stopping = stopping_;
    state.done = progress_.done;
    state.total = progress_.total;
    state.seconds_left = seconds_left();
    state.shown = shown_;
    state.history = history_;
    state.error = error_;
    if (!model_.loaded()) return;
    const CacheWish& cache = chat_.settings().cache;
    state.settings = describe_kv_settings(cache.kv);
    const int64_t longest = std::min<int64_t>(cache.context_length, model_.loaded()->model->config.context_length);
    for (const int64_t length : kLengths)
        if (length + kQuestionRoom <= longest) state.lengths.push_back(length);
    const int64_t whole = (longest - kQuestionRoom) / 1024 * 1024;
    if (whole > 0 && (state.lengths.empty() || whole > state.lengths.back())) state.lengths.push_back(whole);
    const KvSchemeQuality* quality = find_kv_scheme_quality(cache.kv.scheme);
    if (quality != nullptr && quality->mean_kl >= kHighError && cache.kv.window == 0 && longest > kLongText)
        state.warning =
            fmt::format("{} without a window changes much on long texts: check 32K and more, or add a window.",
                        kv_scheme_name(cache.kv.scheme));
}

void RecallController::fill(EngineState& state) const {
    if (!running_ || state.busy()) return;
    state.phase = EnginePhase::measuring;
    state.done = progress_.done;
    state.total = progress_.total;
    state.seconds_left = seconds_left();
    state.stopping = stopping_;
}

}  // namespace octavo
