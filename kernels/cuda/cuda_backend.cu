#include "kernels/cuda/cuda_backend.h"

#include <algorithm>
#include <utility>

#include "kernels/base/memory_error.h"
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/cuda_upload_stream.h"
#include "kernels/cuda/few_tokens.cuh"
#include "kernels/cuda/gated_delta.cuh"
#include "kernels/cuda/gemm.cuh"

namespace octavo {

Result<std::unique_ptr<Backend>> make_cuda_backend(const CudaOptions& options) {
    return cuda::CudaBackend::create(options);
}

namespace cuda {
namespace {

Error device_error(cudaError_t error) {
    return {ErrorKind::device, std::string("The GPU failed (") + cudaGetErrorString(error) +
                                   "); start the program again, or use --device cpu."};
}

__global__ void set_position(int64_t* position, int64_t value) { *position = value; }

}  // namespace

Result<std::unique_ptr<Backend>> CudaBackend::create(const CudaOptions& options) {
    std::unique_ptr<CudaBackend> backend(new CudaBackend());
    if (Status status = backend->start(options); !status) return status.error();
    return std::unique_ptr<Backend>(std::move(backend));
}

Status CudaBackend::start(const CudaOptions& options) {
    constexpr int kDevice = 0;
    int devices = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0) {
        (void)cudaGetLastError();
        const std::string reason = error == cudaSuccess ? "no GPU is there" : cudaGetErrorString(error);
        return Error{ErrorKind::device,
                     "There is no GPU for CUDA (" + reason + "); install NVIDIA's driver or use --device cpu."};
    }
    cudaDeviceProp properties = {};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, kDevice); error != cudaSuccess) {
        return device_error(error);
    }
    const std::string capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
    cudaFuncAttributes attributes = {};
    size_t free_at_start = 0;
    size_t total = 0;
    if (cudaSetDevice(kDevice) != cudaSuccess || cudaMemGetInfo(&free_at_start, &total) != cudaSuccess ||
        cudaFuncGetAttributes(&attributes, set_position) != cudaSuccess) {
        (void)cudaGetLastError();
        return Error{ErrorKind::device, std::string("This build has no code for ") + properties.name +
                                            " (compute capability " + capability +
                                            ", 7.5 or later is needed), or the driver is too old; use --device cpu."};
    }
    if (const cudaError_t error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); error != cudaSuccess) {
        return device_error(error);
    }
    const auto budget = static_cast<size_t>(options.budget_bytes);
    if (Status status = memory_.start(kDevice, stream_, budget, free_at_start); !status) return status;
    host_calls_.start(memory_, stream_, options.host_by_driver);
    prepare_decode_attention();
    prepare_prefill_attention();
    prepare_chunked();
    prepare_gemm();
    shared_memory_ = {static_cast<int>(properties.sharedMemPerMultiprocessor),
                      static_cast<int>(properties.sharedMemPerBlockOptin)};
    prepare_int8_products(shared_memory_);
    prepare_int8_experts(shared_memory_);
    float32_ = options.float32;
    // Code for an older GPU may run here: what it lacks counts.
    compute_capability_ = std::min(10 * properties.major + properties.minor, attributes.ptxVersion);
    multiprocessors_ = properties.multiProcessorCount;
    name_ = std::string("cuda, ") + properties.name + ", compute capability " + capability + ", " +
            format_bytes(memory_.free_bytes()) + (options.budget_bytes > 0 ? " allowed" : " free");
    Result<Buffer> flags = memory_.allocate(sizeof(Flags), "the GPU's flags");
    if (!flags) return flags.error();
    flags_ = std::move(*flags);
    memory_.clear(flags_.data(), sizeof(Flags));
    return finish();
}

BackendBytes CudaBackend::own_bytes() {
    return {.scratch = static_cast<int64_t>(scratch_.bytes()),
            .code = static_cast<int64_t>(memory_.measure_driver_bytes())};
}

CudaBackend::~CudaBackend() {
    if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
    drop_records();
    scratch_ = Buffer();
    flags_ = Buffer();
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

FewTokensWays CudaBackend::few_tokens_ways() const {
    return {.multiprocessors = multiprocessors_,
            .shared_memory = shared_memory_,
            .float32 = float32_,
            .tensor_cores = !float32_ && compute_capability_ >= 80,
            .early = early()};
}

void CudaBackend::start_on_host(const std::function<void()>& work) { host_calls_.begin(work, recording_); }

void CudaBackend::join_host() { host_calls_.join(recording_); }

Result<std::unique_ptr<UploadStream>> CudaBackend::upload_stream(const UploadOptions& options) {
    return make_cuda_upload_stream(memory_, stream_, options);
}

Status CudaBackend::finish() {
    int32_t not_encodable = 0;
    auto* const flag = &flags_.as<Flags>()->not_encodable;
    memory_.download(&not_encodable, flag, sizeof not_encodable);
    if (not_encodable != 0) memory_.clear(flag, sizeof not_encodable);
    const std::optional<Error> refused = std::exchange(refused_, std::nullopt);
    if (const cudaError_t error = memory_.take_error(); error != cudaSuccess) return device_error(error);
    if (refused) return *refused;
    if (not_encodable != 0) {
        return Error{ErrorKind::input, "Keys or values are not finite numbers, or too large for the KV format."};
    }
    return {};
}

std::byte* CudaBackend::scratch(int64_t bytes) {
    const auto wanted = static_cast<size_t>(bytes);
    if (scratch_.bytes() >= wanted && scratch_.data() != nullptr) return scratch_.data();
    memory_.note(cudaStreamSynchronize(stream_));  // earlier operations may still use it
    drop_records();
    scratch_ = Buffer();
    Result<Buffer> larger = memory_.allocate(wanted, "scratch memory");
    if (!larger) {
        refused_ = larger.error();
        return nullptr;
    }
    scratch_ = std::move(*larger);
    return scratch_.data();
}

const int64_t* CudaBackend::position(int64_t first_cell) {
    int64_t* const device = &flags_.as<Flags>()->position;
    if (first_cell != position_) {
        set_position<<<1, 1, 0, stream_>>>(device, first_cell);
        launched();
        position_ = first_cell;
    }
    return device;
}

void CudaBackend::repeat(std::span<const uint64_t> key, int64_t first_cell, const std::function<void()>& work) {
    constexpr size_t kMostRecords = 8;
    (void)position(first_cell);
    const auto same_key = [&](const Record& record) { return std::ranges::equal(record.key, key); };
    if (const auto known = std::ranges::find_if(records_, same_key); known != records_.end()) {
        return launch(*known);
    }
    // The first time shows how much scratch the calls need; nothing is allocated while they are recorded.
    const bool seen = std::ranges::equal(last_key_, key);
    last_key_.assign(key.begin(), key.end());
    cudaGraphExec_t graph = seen ? record(work) : nullptr;
    HostCalls::Works host_works = host_calls_.take_recorded();
    if (graph == nullptr) return work();
    if (records_.size() == kMostRecords) {
        (void)cudaGraphExecDestroy(records_.front().graph);
        records_.erase(records_.begin());
    }
    records_.push_back({last_key_, graph, std::move(host_works)});
    launch(records_.back());
}

void CudaBackend::launch(const Record& record) {
    const cudaError_t error = cudaGraphLaunch(record.graph, stream_);
    memory_.note(error);
    if (error == cudaSuccess) host_calls_.run(record.host_works);
}

// nullptr where the driver does not record these calls; nothing has been run then.
cudaGraphExec_t CudaBackend::record(const std::function<void()>& work) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
        recording_ = true;
        const auto end = [&] {
            recording_ = false;
            return cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph != nullptr;
        };
        try {
            work();
        } catch (...) {
            if (end()) (void)cudaGraphDestroy(graph);
            (void)host_calls_.take_recorded();
            throw;
        }
        if (end()) {
            if (cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess) executable = nullptr;
            (void)cudaGraphDestroy(graph);
        }
    }
    if (executable == nullptr) (void)cudaGetLastError();
    return executable;
}

void CudaBackend::drop_records() {
    for (const Record& record : records_) (void)cudaGraphExecDestroy(record.graph);
    records_.clear();
    last_key_.clear();
}

}  // namespace cuda
}  // namespace octavo
