#include "runtime/engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "kernels/base/memory_error.h"
#include "kernels/cuda/cuda.h"
#include "kernels/host_arrays.h"
#include "runtime/expert_placement.h"
#include "runtime/reply.h"
#include "runtime/split_setup.h"

namespace octavo {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// Experts leave so much of a device without a budget to other programs.
constexpr int64_t kLeftToOthers = 256 * kMiB;

// A way to put a model on a device; each takes less of its memory than the one before.
struct Attempt {
    ExpertsGo experts = ExpertsGo::along;
    int64_t slice_bytes = 0;  // of experts that travel
    int prefill_chunk = 0;
};

std::vector<Attempt> attempts_of(const HybridConfig& config, const EngineOptions& options) {
    const int usual = options.session.prefill_chunk;
    if (config.experts == 0) return {{ExpertsGo::along, 0, usual}};
    const int64_t context = options.session.context_length > 0 ? options.session.context_length : config.context_length;
    const int longer = std::max(usual, static_cast<int>(std::min<int64_t>(options.device_prefill_chunk, context)));
    std::vector<Attempt> attempts = {{ExpertsGo::along, 0, longer}};
    if (longer > usual) attempts.push_back({ExpertsGo::along, 0, usual});
    for (const int64_t slice_bytes : options.split_slice_bytes) {
        attempts.push_back({ExpertsGo::later, slice_bytes, longer});
    }
    return attempts;
}

// No exception leaves the engine's thread: libraries below may throw when memory runs out.
template <class Work>
auto guarded(Work&& work) -> decltype(work()) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::memory,
                     "The machine ran out of memory; close other programs or use a shorter context."};
    } catch (const std::exception& exception) {
        return Error{ErrorKind::device,
                     fmt::format("Something unexpected went wrong in the engine: {}.", exception.what())};
    }
}

}  // namespace

Result<DeviceChoice> parse_device(std::string_view text) {
    if (text == "auto") return DeviceChoice::automatic;
    if (text == "cpu") return DeviceChoice::cpu;
    if (text == "cuda") return DeviceChoice::cuda;
    return Error{ErrorKind::usage, fmt::format("There is no device \"{}\"; there are auto, cpu and cuda.", text)};
}

Result<std::unique_ptr<Backend>> open_backend(const DeviceOptions& options) {
    if (options.device != DeviceChoice::cpu) {
        Result<std::unique_ptr<Backend>> cuda =
            make_cuda_backend({.budget_bytes = options.gpu_budget_bytes, .host_by_driver = false});
        if (cuda || options.device == DeviceChoice::cuda) return cuda;
    }
    std::unique_ptr<Backend> cpu = make_cpu_backend(options.threads, detect_cpu_isa());
    if (cpu == nullptr) return Error{ErrorKind::memory, "There is no memory for the CPU's workspace."};
    return cpu;
}

Result<std::unique_ptr<Backend>> open_backend_on_host_arrays(const DeviceOptions& options) {
    Result<std::unique_ptr<Backend>> backend = open_backend(options);
    if (!backend) return backend;
    return on_host_arrays(std::move(*backend));
}

// Everything the engine's thread owns, and the queue it is fed through.
class Engine::Worker {
  public:
    Worker(std::shared_ptr<const Model> model, const EngineOptions& options, std::unique_ptr<Backend> backend,
           std::string gpu_refusal)
        : model_(std::move(model)),
          device_(options),
          options_(options.session),
          backend_(std::move(backend)),
          gpu_refusal_(std::move(gpu_refusal)),
          placement_(*model_) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    ~Worker() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
            for (const auto& weak : generations_) {
                if (const auto generation = weak.lock()) generation->cancel();
            }
        }
        changed_.notify_all();
        if (thread_.joinable()) thread_.join();
    }

    // experts: whether the back end's memory takes them with all else, or what it has room for in the end.
    // slice_bytes: of those that travel.
    Status start(ExpertsGo experts, int64_t slice_bytes) {
        info_.free_bytes = backend_->memory().free_bytes();
        if (experts == ExpertsGo::later) {
            if (Status status = split(slice_bytes); !status) return status;
        }
        const Memory& memory = backend_->memory();
        if (Status status = placement_.place(*backend_, experts); !status) return status;
        Result<Forward> forward =
            Forward::create(model_->config, placement_.weights(), *backend_, options_.prefill_chunk);
        if (!forward) return forward.error();
        forward_.emplace(std::move(*forward));
        // The first session shows whether the options can be met at all.
        Result<std::unique_ptr<Session>> first = Session::create(model_->config, *forward_, options_);
        if (!first) return first.error();
        info_.device = memory.on_host() ? "cpu" : "cuda";
        info_.backend = backend_->name() + (gpu_refusal_.empty() ? "" : ", not the GPU: " + gpu_refusal_);
        info_.gpu_refusal = gpu_refusal_;
        info_.scheme = kv_scheme_name(options_.kv.scheme);
        info_.kv = options_.kv;
        info_.equalise = options_.equalise;
        info_.context_length = (*first)->context_length();
        info_.bytes_per_token = (*first)->cache().bytes_per_token();
        if (!memory.on_host()) {
            if (Status status = rehearse(**first); !status) return status;
        }
        const BackendBytes own = backend_->own_bytes();
        info_.memory.place = memory.place();
        info_.memory.page_bytes = static_cast<int64_t>(memory.page_bytes());
        info_.memory.weight_bytes = placement_.weight_bytes();
        info_.memory.workspace_bytes = forward_->workspace_bytes();
        info_.memory.scratch_bytes = own.scratch;
        info_.memory.code_bytes = own.code;
        info_.least_budget_bytes = (static_cast<int64_t>(memory.taken_bytes()) / kMiB + 1) * kMiB;
        if (Status status = memory.room_for(1, "conversations"); !status) return status;
        if (experts == ExpertsGo::later) {
            info_.split_layers = placement_.layers();
            (*first).reset();
            if (Status status = take_experts_in(); !status) return status;
            info_.backend +=
                fmt::format("; experts of {} of {} layers on the GPU", placement_.whole_layers(), info_.split_layers);
            info_.memory = memory_by_now();
        }
        thread_ = std::thread([this] { work(); });
        return {};
    }

    // Of kernels, also where `start` failed.
    int64_t loaded_bytes() {
        // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): what was moved from is null, and asked for
        return backend_ != nullptr ? backend_->own_bytes().code : 0;
    }

    const Model& model() const { return *model_; }
    const EngineInfo& info() const { return info_; }
    EngineMemory memory_by_now() const {
        EngineMemory memory = info_.memory;
        memory.device_expert_bytes = placement_.device_expert_bytes();
        memory.host_expert_bytes = placement_.host_expert_bytes();
        return memory;
    }
    int device_expert_layers() const { return placement_.whole_layers(); }
    bool on_engine_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

    void report_cache(const std::string& conversation, GenerationReport& report) {
        const auto found = sessions_.find(conversation);
        const KvSettings& kv = found != sessions_.end() ? found->second->cache().settings() : options_.kv;
        report.scheme = kv_scheme_name(kv.scheme);
        report.window = kv.window;
        report.sinks = kv.sinks;
    }

    void post(std::function<void()> task) {
        {
            const std::lock_guard lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        changed_.notify_all();
    }

    void watch(const std::shared_ptr<Generation>& generation) {
        const std::lock_guard lock(mutex_);
        std::erase_if(generations_, [](const auto& weak) { return weak.expired(); });
        generations_.push_back(generation);
    }

    // The engine's thread only, from here on.

    Result<Session*> session(const std::string& conversation) {
        std::unique_ptr<Session>& slot = sessions_[conversation];
        if (slot == nullptr) {
            Result<std::unique_ptr<Session>> created = Session::create(model_->config, *forward_, options_);
            if (!created) return created.error();
            slot = std::move(*created);
        }
        return slot.get();
    }

    void close(const std::string& conversation) {
        sessions_.erase(conversation);
        (void)take_experts_in();  // what does not fit after all stays with the CPU
    }

    Result<GenerationReport> generate(const GenerateRequest& request, GenerationWriter& writer) {
        if (writer.job().cancelled()) {
            GenerationReport report;
            report.stop = StopReason::cancelled;
            return report;
        }
        if (Status status = check_sampler_options(request.sampler); !status) return status.error();
        Result<PreparedPrompt> prompt = prepare(request);
        if (!prompt) return prompt.error();
        Result<Session*> target = session(request.conversation);
        if (!target) return target.error();
        return write_reply(*model_, **target, *prompt, request, writer);
    }

  private:
    // From a device to a back end that leaves experts to the CPU.
    Status split(int64_t slice_bytes) {
        Result<SharedBackend> shared =
            share_with_cpu(std::move(backend_), *model_, slice_bytes, device_.threads, placement_.yielding());
        if (!shared) return shared.error();
        backend_ = std::move(shared->backend);
        info_.memory.host_scratch_bytes = shared->host_scratch_bytes;
        return {};
    }

    Status take_experts_in() {
        if (info_.split_layers == 0) return {};
        Memory& memory = backend_->memory();
        int64_t free = static_cast<int64_t>(memory.free_bytes()) - placement_.device_expert_bytes();
        if (device_.gpu_budget_bytes == 0) free -= kLeftToOthers;
        const int64_t room = room_for_experts(*model_, options_, info_.context_length, info_.memory, free);
        return placement_.take_in(room, memory);
    }

    // The first tokens load a device's kernels, and its scratch grows to what they need: so that comes before anybody
    // waits or asks where the memory is.
    Status rehearse(Session& session) {
        const int64_t tokens = std::min<int64_t>(options_.prefill_chunk, session.context_length() - 2);
        if (tokens < 1) return {};
        placement_.use_host_experts(ExpertPlacement::Among::one_layer);
        const std::vector<int32_t> ids(static_cast<size_t>(tokens), 0);
        Job job;
        if (Result<PrefillReport> report = session.prefill(ids, {}, job); !report) return report.error();
        SamplerOptions every_filter;
        every_filter.top_k = 20;
        every_filter.top_p = 0.9f;
        every_filter.repeat_penalty = 1.1f;
        Sampler sampler(every_filter);
        for (int i = 0; i < 2; ++i) {  // the second time, a pass is recorded
            if (Result<int32_t> id = session.decode_and_sample(0, sampler); !id) return id.error();
        }
        placement_.use_host_experts(ExpertPlacement::Among::all_layers);
        return session.fetch_logits();
    }

    Result<PreparedPrompt> prepare(const GenerateRequest& request) const {
        if (const auto* chat = std::get_if<ChatPrompt>(&request.prompt)) return prepare_prompt(*model_, *chat);
        PreparedPrompt prompt;
        prompt.ids = std::get<std::vector<int32_t>>(request.prompt);
        prompt.anchors = prompt_anchors(prompt.ids, turn_start_id(*model_), false);
        return prompt;
    }

    void work() {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
                if (tasks_.empty()) return;  // whoever waits for a task gets an answer even while stopping
                task = std::move(tasks_.front());
                tasks_.pop_front();
            }
            task();
        }
    }

    // Later members use earlier ones, and go first.
    std::shared_ptr<const Model> model_;
    DeviceOptions device_;
    SessionOptions options_;
    EngineInfo info_;
    std::unique_ptr<Backend> backend_;
    std::string gpu_refusal_;
    ExpertPlacement placement_;
    std::optional<Forward> forward_;
    std::map<std::string, std::unique_ptr<Session>> sessions_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;             // guarded by mutex_
    std::vector<std::weak_ptr<Generation>> generations_;  // guarded by mutex_
    bool stopping_ = false;                               // guarded by mutex_
    std::thread thread_;
};

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model, const EngineOptions& options) {
    return create(std::move(model), options, [](int64_t budget_bytes) {
        return make_cuda_backend({.budget_bytes = budget_bytes, .host_by_driver = false});
    });
}

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model, const EngineOptions& options,
                                               const OpenDevice& open_gpu) {
    std::string gpu_refusal;
    if (options.device != DeviceChoice::cpu) {
        bool opened = false;
        const auto open = [&](int64_t budget_bytes) {
            Result<std::unique_ptr<Backend>> gpu = open_gpu(budget_bytes);
            opened = opened || gpu;
            return gpu;
        };
        Result<std::unique_ptr<Engine>> engine = create_within_budget(model, options, open);
        const bool too_large = !engine && engine.error().kind == ErrorKind::memory;
        if (options.device == DeviceChoice::cuda || (opened && !too_large)) return engine;
        if (opened) gpu_refusal = engine.error().message;
    }
    DeviceOptions cpu = options;
    cpu.device = DeviceChoice::cpu;
    Result<std::unique_ptr<Backend>> backend = open_backend(cpu);
    if (!backend) return backend.error();
    return create(std::move(model), options, std::move(*backend), std::move(gpu_refusal));
}

Result<std::unique_ptr<Engine>> Engine::create_within_budget(std::shared_ptr<const Model> model,
                                                             const EngineOptions& options, const OpenDevice& open) {
    const int64_t budget = options.gpu_budget_bytes;
    int64_t loaded_bytes = 0;  // kernels that an engine which did not fit has left in the process
    const auto start = [&](int64_t budget_bytes, const Attempt& attempt) -> Result<std::unique_ptr<Engine>> {
        Result<std::unique_ptr<Backend>> backend = open(budget_bytes);
        if (!backend) return backend.error();
        EngineOptions chosen = options;
        chosen.session.prefill_chunk = attempt.prefill_chunk;
        auto worker = std::make_unique<Worker>(model, chosen, std::move(*backend), std::string());
        if (Status status = worker->start(attempt.experts, attempt.slice_bytes); !status) {
            loaded_bytes = worker->loaded_bytes();
            return status.error();
        }
        return std::unique_ptr<Engine>(new Engine(std::move(worker)));
    };
    const auto refused = [](const Result<std::unique_ptr<Engine>>& engine) {
        return !engine && engine.error().kind == ErrorKind::memory;
    };
    const std::vector<Attempt> attempts = attempts_of(model->config, options);
    auto attempt = attempts.begin();
    Result<std::unique_ptr<Engine>> engine = start(budget, *attempt);
    while (refused(engine) && attempt + 1 != attempts.end()) engine = start(budget, *++attempt);
    if (budget == 0 || !refused(engine)) return engine;
    // What works is best found by doing it.
    const Result<std::unique_ptr<Engine>> without_budget = start(0, *attempt);
    if (!without_budget) return engine;
    const EngineInfo& info = (*without_budget)->info();
    const int64_t least_mib = (info.least_budget_bytes + loaded_bytes + kMiB - 1) / kMiB;
    return Error{ErrorKind::memory,
                 fmt::format("The GPU budget of {} is too small for this model with a KV cache in {}: {} MiB is the "
                             "smallest that works, and longer conversations need more; raise --gpu-budget.",
                             format_bytes(static_cast<uint64_t>(budget)), info.scheme, least_mib)};
}

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model, const EngineOptions& options,
                                               std::unique_ptr<Backend> backend) {
    return create(std::move(model), options, std::move(backend), {});
}

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model, const EngineOptions& options,
                                               std::unique_ptr<Backend> backend, std::string gpu_refusal) {
    auto worker = std::make_unique<Worker>(std::move(model), options, std::move(backend), std::move(gpu_refusal));
    if (Status status = worker->start(ExpertsGo::along, 0); !status) return status.error();
    return std::unique_ptr<Engine>(new Engine(std::move(worker)));
}

Engine::Engine(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
Engine::~Engine() = default;

const Model& Engine::model() const { return worker_->model(); }
const EngineInfo& Engine::info() const { return worker_->info(); }
EngineMemory Engine::memory() const { return worker_->memory_by_now(); }
int Engine::device_expert_layers() const { return worker_->device_expert_layers(); }

std::shared_ptr<Generation> Engine::generate(GenerateRequest request) {
    auto generation = std::make_shared<Generation>();
    worker_->watch(generation);
    worker_->post([worker = worker_.get(), generation, request = std::move(request)] {
        GenerationWriter writer(generation);
        Result<GenerationReport> report = guarded([&] { return worker->generate(request, writer); });
        if (report) {
            worker->report_cache(request.conversation, *report);
            report->device = worker->info().device;
        }
        writer.finish(std::move(report));
    });
    return generation;
}

void Engine::close_session(const std::string& conversation) {
    worker_->post([worker = worker_.get(), conversation] { worker->close(conversation); });
}

Status Engine::run_and_wait(const std::string& conversation, const std::function<void(Session&)>& work) {
    if (worker_->on_engine_thread()) {
        return Error{ErrorKind::usage, "The engine was asked to wait for itself; this is a fault of the program."};
    }
    std::promise<Status> promise;
    std::future<Status> done = promise.get_future();
    worker_->post([&] {
        promise.set_value(guarded([&]() -> Status {
            Result<Session*> session = worker_->session(conversation);
            if (!session) return session.error();
            work(**session);
            return {};
        }));
    });
    return done.get();
}

}  // namespace octavo
