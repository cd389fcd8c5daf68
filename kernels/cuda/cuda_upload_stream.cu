#include "kernels/cuda/cuda_upload_stream.h"

#include <utility>
#include <vector>

namespace octavo::cuda {
namespace {

// Orders streams, and lets the thread that waits for it sleep.
class Event {
  public:
    Event() { (void)cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    ~Event() {
        if (event_ != nullptr) (void)cudaEventDestroy(event_);
    }
    cudaEvent_t get() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

class CudaUploadStream final : public UploadStream {
  public:
    CudaUploadStream(CudaMemory& memory, cudaStream_t operations, const UploadOptions& options, Buffer staging)
        : memory_(memory),
          operations_(operations),
          piece_bytes_(options.piece_bytes),
          staging_(std::move(staging)),
          copied_(static_cast<size_t>(options.pieces)),
          released_(static_cast<size_t>(options.slots)) {
        memory_.note(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
    }
    CudaUploadStream(const CudaUploadStream&) = delete;
    CudaUploadStream& operator=(const CudaUploadStream&) = delete;
    ~CudaUploadStream() override {
        if (copies_ == nullptr) return;
        (void)cudaStreamSynchronize(copies_);
        (void)cudaStreamDestroy(copies_);
    }

    void begin(int slot) override { wait(copies_, released_[static_cast<size_t>(slot)]); }
    std::byte* piece() override {
        memory_.note(cudaEventSynchronize(copied_[next_].get()));
        return staging_.data() + next_ * piece_bytes_;
    }
    void send(std::byte* to, size_t bytes) override {
        const std::byte* const from = staging_.data() + next_ * piece_bytes_;
        memory_.note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_));
        memory_.note(cudaEventRecord(copied_[next_].get(), copies_));
        next_ = (next_ + 1) % copied_.size();
    }
    void end() override {
        memory_.note(cudaEventRecord(sent_.get(), copies_));
        wait(operations_, sent_);
    }
    void release(int slot) override {
        memory_.note(cudaEventRecord(released_[static_cast<size_t>(slot)].get(), operations_));
    }

  private:
    // An event that was never recorded lies behind everybody.
    void wait(cudaStream_t stream, const Event& event) { memory_.note(cudaStreamWaitEvent(stream, event.get())); }

    CudaMemory& memory_;
    cudaStream_t operations_;
    size_t piece_bytes_;
    Buffer staging_;               // [pieces][piece_bytes]
    std::vector<Event> copied_;    // [pieces]
    std::vector<Event> released_;  // [slots]
    Event sent_;
    size_t next_ = 0;  // piece
    cudaStream_t copies_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<UploadStream>> make_cuda_upload_stream(CudaMemory& memory, cudaStream_t operations,
                                                              const UploadOptions& options) {
    Result<Buffer> staging = memory.allocate_shared(options.staging_bytes(), "experts on their way");
    if (!staging) return staging.error();
    return std::unique_ptr<UploadStream>(
        std::make_unique<CudaUploadStream>(memory, operations, options, std::move(*staging)));
}

}  // namespace octavo::cuda
