// The engine: one thread that owns the back end, the forward pass and all sessions, and works through requests in
// order. Everybody else talks to it through handles.
//
// Threads: every method may be called from any thread; `generate` never waits, `call` waits for its turn.
// Non-goals: loading models (done outside, see models/model.h), knowing conversations beyond their name.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/backend.h"
#include "models/model.h"
#include "runtime/generation.h"
#include "runtime/memory_plan.h"
#include "runtime/session.h"

namespace octavo {

enum class DeviceChoice { automatic, cpu, cuda };
// "auto", "cpu", "cuda"; ErrorKind::usage for anything else.
Result<DeviceChoice> parse_device(std::string_view text);

struct DeviceOptions {
    DeviceChoice device = DeviceChoice::automatic;
    int threads = 0;               // of the CPU; 0: one per physical core
    int64_t gpu_budget_bytes = 0;  // most GPU memory to take; 0: what is free
};
// The back end that an engine with these options would work on; automatic: the GPU where there is one.
// ErrorKind::device.
Result<std::unique_ptr<Backend>> open_backend(const DeviceOptions& options);
// The same, for work on arrays in ordinary memory (kernels/host_arrays.h).
Result<std::unique_ptr<Backend>> open_backend_on_host_arrays(const DeviceOptions& options);

struct EngineOptions : DeviceOptions {
    SessionOptions session;
    // On a device, of a model with experts: a pass reads them all, or copies them there, so that a longer one is a
    // faster one.
    int device_prefill_chunk = 2048;
    // Bytes of experts that are copied at a time, while the device works on the last: tried in turn until both fit.
    std::array<int64_t, 2> split_slice_bytes = {int64_t{64} << 20, int64_t{16} << 20};
};

// What was chosen, in words and numbers for a person.
struct EngineInfo {
    std::string device;   // "cpu", "cuda"
    std::string backend;  // "cpu, avx512, 2 threads", and why not the GPU where that was tried
    EngineMemory memory;
    size_t free_bytes = 0;           // that could still be taken at memory.place before the engine did; 0: not known
    int64_t least_budget_bytes = 0;  // of a GPU, for the first tokens of a conversation; whole MiB; 0: not counted
    std::string gpu_refusal;         // why not the GPU, where that was tried
    int split_layers = 0;            // whose experts a device may leave to the CPU; 0: everything is in one place
    std::string scheme;
    KvSettings kv;  // what new conversations start with
    KvEqualise equalise = KvEqualise::off;
    int64_t context_length = 0;
    int64_t bytes_per_token = 0;
};

class Engine {
  public:
    // ErrorKind::usage for a context longer than the model's, device for a device that is not there, memory: a GPU
    // budget that is too small is refused with the smallest that works. Of a model that does not fit the GPU as a
    // whole, experts stay with the CPU; with DeviceChoice::automatic a model of which even the rest does not fit runs
    // on the CPU alone.
    static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model, const EngineOptions& options);
    // The same with a device that `open_gpu` opens with a budget (0: none).
    using OpenDevice = std::function<Result<std::unique_ptr<Backend>>(int64_t budget_bytes)>;
    static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model, const EngineOptions& options,
                                                  const OpenDevice& open_gpu);
    // The same on a given back end, for tests and measurements; options.device is only a name then.
    static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model, const EngineOptions& options,
                                                  std::unique_ptr<Backend> backend);
    // Cancels what is running or queued and waits for the thread.
    ~Engine();

    const Model& model() const;
    const EngineInfo& info() const;
    // info().memory, with the experts where they are by now.
    EngineMemory memory() const;
    // Of info().split_layers, those whose experts are all on the device by now.
    int device_expert_layers() const;

    std::shared_ptr<Generation> generate(GenerateRequest request);

    // Forgets a conversation's cache; nothing happens where there is none. Does not wait.
    void close_session(const std::string& conversation);

    // Runs work(Session&) on the engine's thread and waits for it; the session is made on first use. `work` returns a
    // Status or a Result. Never call it from inside `work`.
    template <class Work>
    std::invoke_result_t<Work, Session&> call(const std::string& conversation, Work&& work) {
        std::invoke_result_t<Work, Session&> outcome = Error{ErrorKind::cancelled, "The engine is shutting down."};
        const Status status = run_and_wait(conversation, [&](Session& session) { outcome = work(session); });
        if (!status) return status.error();
        return outcome;
    }

    // The same within options.gpu_budget_bytes on a device that `open` opens, once or twice.
    static Result<std::unique_ptr<Engine>> create_within_budget(std::shared_ptr<const Model> model,
                                                                const EngineOptions& options, const OpenDevice& open);

  private:
    class Worker;
    static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model, const EngineOptions& options,
                                                  std::unique_ptr<Backend> backend, std::string gpu_refusal);
    explicit Engine(std::unique_ptr<Worker> worker);
    Status run_and_wait(const std::string& conversation, const std::function<void(Session&)>& work);

    std::unique_ptr<Worker> worker_;
};

}  // namespace octavo
