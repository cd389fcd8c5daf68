#include "app/desktop/real_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <type_traits>
#include <utility>

#include "app/desktop/model_loader.h"
#include "app/desktop/task_thread.h"
#include "app/model_choice.h"
#include "runtime/prompt.h"
#include "runtime/recall/recall_run.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{40};
constexpr std::chrono::milliseconds kProgressInterval{100};
// Conversations whose caches are held at once; the one that was used longest ago goes first.
constexpr size_t kHeldConversations = 4;

Error no_model() { return {ErrorKind::usage, "No model is loaded: choose one in the Model tab."}; }

// Where every thread leaves its events.
class Mailbox {
  public:
    explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

    void put(EngineEvent event) {
        {
            const std::lock_guard lock(mutex_);
            events_.push_back(std::move(event));
        }
        wake_();
    }
    std::vector<EngineEvent> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(events_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<EngineEvent> events_;  // guarded by mutex_
    std::function<void()> wake_;
};

// The commands that were posted and have not ended, so that all can be stopped at once.
class Jobs {
  public:
    std::shared_ptr<Job> start() {
        auto job = std::make_shared<Job>();
        const std::lock_guard lock(mutex_);
        std::erase_if(jobs_, [](const auto& weak) { return weak.expired(); });
        jobs_.push_back(job);
        return job;
    }
    void cancel_all() {
        const std::lock_guard lock(mutex_);
        for (const std::weak_ptr<Job>& weak : jobs_)
            if (const std::shared_ptr<Job> job = weak.lock()) job->cancel();
    }

  private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<Job>> jobs_;  // guarded by mutex_
};

// Settings first for the model's whole context, then the context: either may be larger than the other allows before.
KvChange bring_about(Session& session, const CacheWish& wish, int64_t longest, Job& job) {
    const CacheWish before{session.cache().settings(), session.context_length()};
    if (before == wish) return {};
    if (wish.context_length < session.position())
        return {KvChangeOutcome::kept_old, session.set_context_length(wish.context_length).error(), 0};
    (void)session.set_context_length(longest);
    KvChange change = session.change_kv(wish.kv, job);
    if (const Status length = session.set_context_length(wish.context_length); !length && !change.error) {
        change.error = length.error();
    }
    if (change.outcome == KvChangeOutcome::kept_old) (void)session.set_context_length(before.context_length);
    return change;
}

}  // namespace

class RealEngine : public EnginePort {
  public:
    explicit RealEngine(std::function<void()> wake) : mailbox_(std::move(wake)) {}
    ~RealEngine() override {
        load_job_->cancel();
        recall_job_->cancel();
        jobs_.cancel_all();
    }

    void load_model(ModelRequest request) override {
        jobs_.cancel_all();
        recall_job_->cancel();
        load_job_->cancel();
        load_job_ = std::make_shared<Job>();
        worker_.post([this, job = load_job_, request = std::move(request)] { load(request, *job); });
    }
    void cancel_load() override { load_job_->cancel(); }

    void reply(ReplyRequest request) override {
        worker_.post([this, job = jobs_.start(), request = std::move(request)]() mutable {
            const std::string conversation = request.conversation;
            Result<GenerationReport> report = write_reply(std::move(request), *job);
            measure(conversation);
            mailbox_.put(ReplyEnded{conversation, std::move(report)});
        });
    }

    void change_cache(std::string conversation, CacheWish wish) override {
        worker_.post([this, job = jobs_.start(), conversation = std::move(conversation), wish] {
            CacheChanged changed{conversation, wish, {}, 0};
            const Status status = watched(
                *job,
                [&](Job::Progress layers) {
                    mailbox_.put(CacheProgressed{conversation, layers});
                },
                [&] {
                    return on_session(conversation, [&](Session& session) -> Status {
                        changed.change = bring_about(session, wish, engine_->model().config.context_length, *job);
                        changed.tokens = session.position();
                        return {};
                    });
                });
            if (!status) changed.change = {KvChangeOutcome::kept_old, status.error(), 0};
            measure(conversation);
            mailbox_.put(std::move(changed));
        });
    }

    void rebuild(std::string conversation) override {
        worker_.post([this, job = jobs_.start(), conversation = std::move(conversation)] {
            Result<PrefillReport> report = PrefillReport{};
            const Status status = watched(
                *job,
                [&](Job::Progress tokens) {
                    mailbox_.put(RebuildProgressed{conversation, tokens});
                },
                [&] {
                    return on_session(conversation, [&](Session& session) -> Status {
                        report = session.rebuild(*job);
                        return {};
                    });
                });
            if (!status) report = status.error();
            measure(conversation);
            mailbox_.put(RebuildEnded{conversation, std::move(report)});
        });
    }

    void stop() override { jobs_.cancel_all(); }

    void close(std::string conversation) override {
        worker_.post([this, conversation = std::move(conversation)] {
            std::erase(held_, conversation);
            if (engine_) engine_->close_session(conversation);
        });
    }

    void count_tokens(uint64_t ticket, std::string text) override {
        counter_.post([this, ticket, text = std::move(text)] { mailbox_.put(TextCounted{ticket, count(text)}); });
    }

    void run_recall(RecallPlan plan) override {
        recall_job_ = std::make_shared<Job>();
        recall_.post([this, job = recall_job_, plan = std::move(plan)]() mutable {
            mailbox_.put(RecallEnded{check_recall({std::move(plan), {}}, *job)});
        });
    }
    void stop_recall() override { recall_job_->cancel(); }

    std::vector<EngineEvent> take_events() override { return mailbox_.take(); }
    MachineMemory machine_memory() const override { return octavo::machine_memory(); }

  private:
    // The worker's thread, from here on.

    void load(const ModelRequest& request, Job& job) {
        ModelLoader loader(request, job, [this](ModelLoading stage) { mailbox_.put(std::move(stage)); });
        const Result<std::shared_ptr<const Model>> model = loader.open();
        if (!model) return mailbox_.put(ModelFailed{model.error(), engine_ != nullptr});
        // Two models at once would need the memory of both.
        set_engine(nullptr, nullptr);
        held_.clear();
        Result<ModelLoader::Started> started = loader.start(*model);
        if (!started) return mailbox_.put(ModelFailed{started.error(), false});
        set_engine(std::move(started->engine), started->model);
        std::vector<std::string> notes = started->model->notes;
        notes.insert(notes.end(), started->notes.begin(), started->notes.end());
        mailbox_.put(ModelLoaded{std::move(started->model), engine_->info(), std::move(notes)});
    }

    Result<GenerationReport> write_reply(ReplyRequest request, Job& job) {
        const Status ready = on_session(request.conversation, [&](Session& session) -> Status {
            KvChange change = bring_about(session, request.cache, engine_->model().config.context_length, job);
            if (change.error) return *change.error;
            return {};
        });
        if (!ready) return ready.error();
        GenerateRequest wanted;
        wanted.conversation = request.conversation;
        wanted.sampler = request.sampler;
        wanted.max_tokens = request.max_tokens;
        if (request.begun.empty()) {
            wanted.prompt = std::move(request.prompt);
        } else {
            Result<PreparedPrompt> prompt = prepare_prompt(engine_->model(), request.prompt);
            if (!prompt) return prompt.error();
            prompt->ids.insert(prompt->ids.end(), request.begun.begin(), request.begun.end());
            wanted.prompt = std::move(prompt->ids);
        }
        const std::shared_ptr<Generation> generation = engine_->generate(std::move(wanted));
        for (bool finished = false; !finished;) {
            if (job.cancelled()) generation->cancel();
            GenerationDelta delta = generation->wait(kWatchInterval);
            finished = delta.finished;
            mailbox_.put(ReplyProgressed{request.conversation, generation->progress()});
            if (!delta.empty()) mailbox_.put(ReplyStreamed{request.conversation, std::move(delta)});
        }
        return generation->report();
    }

    // Runs `work` and meanwhile reports how far its job is.
    template <class Report, class Work>
    static std::invoke_result_t<Work&> watched(const Job& job, Report&& report, Work&& work) {
        std::future<std::invoke_result_t<Work&>> done = std::async(std::launch::async, std::forward<Work>(work));
        while (done.wait_for(kProgressInterval) != std::future_status::ready)
            if (job.progress().total > 0) report(job.progress());
        return done.get();
    }

    template <class Work>
    Status on_session(const std::string& conversation, Work&& work) {
        if (!engine_) return no_model();
        std::erase(held_, conversation);
        held_.push_back(conversation);
        if (held_.size() > kHeldConversations) {
            engine_->close_session(held_.front());
            held_.erase(held_.begin());
        }
        return engine_->call(conversation, std::forward<Work>(work));
    }

    void measure(const std::string& conversation) {
        if (!engine_) return;
        CacheState state;
        for (const std::string& other : held_) {
            if (other == conversation) continue;
            (void)engine_->call(other, [&](Session& session) -> Status {
                state.other_conversations_bytes += session.cache().committed_bytes() +
                                                   session.cache().copy_buffer_bytes() + session.recurrent_bytes() +
                                                   session.checkpoints().bytes();
                return {};
            });
        }
        const Status status = on_session(conversation, [&](Session& session) -> Status {
            state.cache = {session.cache().settings(), session.context_length()};
            state.tokens = session.position();
            state.memory = memory_plan(engine_->model(), session, engine_->memory());
            return {};
        });
        if (status) mailbox_.put(CacheMeasured{conversation, std::move(state)});
    }

    void set_engine(std::shared_ptr<Engine> engine, std::shared_ptr<const Model> model) {
        engine_ = engine;
        const std::lock_guard lock(mutex_);
        shared_engine_ = std::move(engine);
        model_ = std::move(model);
    }

    // The recall thread: a run takes its engine's turns step by step.
    Result<RecallReport> check_recall(const RecallRequest& request, Job& job) {
        std::shared_ptr<Engine> engine;
        {
            const std::lock_guard lock(mutex_);
            engine = shared_engine_;
        }
        if (!engine) return no_model();
        const auto tell = [this, &job](const RecallReport& so_far) {
            mailbox_.put(RecallProgressed{job.progress(), std::make_shared<const RecallReport>(so_far)});
        };
        return watched(
            job,
            [this](Job::Progress tokens) {
                mailbox_.put(RecallProgressed{tokens, nullptr});
            },
            [&] { return octavo::run_recall(*engine, request, job, tell); });
    }

    // The counter's thread.
    Result<int64_t> count(const std::string& text) {
        std::shared_ptr<const Model> model;
        {
            const std::lock_guard lock(mutex_);
            model = model_;
        }
        if (!model) return no_model();
        if (Status status = need_tokenizer(*model); !status) return status.error();
        const Result<std::vector<int32_t>> ids = model->tokenizer->encode_text(text);
        if (!ids) return ids.error();
        return static_cast<int64_t>(ids->size());
    }

    Mailbox mailbox_;
    Jobs jobs_;
    std::shared_ptr<Job> load_job_ = std::make_shared<Job>();  // the interface's thread

    std::shared_ptr<Job> recall_job_ = std::make_shared<Job>();  // likewise

    std::shared_ptr<Engine> engine_;  // the worker's thread
    std::vector<std::string> held_;   // likewise; the newest last

    std::mutex mutex_;
    std::shared_ptr<Engine> shared_engine_;  // guarded by mutex_; the same, for the recall thread
    std::shared_ptr<const Model> model_;     // guarded by mutex_

    TaskThread counter_;  // after all that they use
    TaskThread recall_;
    TaskThread worker_;
};

std::unique_ptr<EnginePort> make_real_engine(std::function<void()> wake) {
    return std::make_unique<RealEngine>(std::move(wake));
}

}  // namespace octavo
