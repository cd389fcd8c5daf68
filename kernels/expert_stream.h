// Experts that a device computes with without holding them: slice by slice they are copied to one of two slots of its
// memory, while it computes with the other. Threads gather a slice from wherever the model's bytes are, into the pieces
// of an UploadStream, ahead of the copies.
//
// Determinism: which expert is in which slice depends on their sizes and the slots' alone.
// Errors: ErrorKind::memory where the slots or the pieces find no room.
// Threads: the one that calls the back end.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/thread_pool.h"
#include "kernels/placed_ffn.h"
#include "kernels/upload_stream.h"

namespace octavo {

struct ExpertStreamOptions {
    int64_t slice_bytes = 0;  // of a slot; room for an expert at least
    int threads = 0;          // of the CPU, as in ThreadPool; some of them gather
    UploadOptions uploads;
};

class ExpertStream {
  public:
    // Two slots, or one where a second finds no room. `device` outlives the stream.
    static Result<std::unique_ptr<ExpertStream>> create(Backend& device, ExpertStreamOptions options);

    // Computes `op` with op.experts, all in ordinary memory, as if they were on the device; its `shared` is left alone.
    void moe(Moe op);

    int64_t device_bytes() const { return static_cast<int64_t>(slots_.bytes()); }

  private:
    ExpertStream(Backend& device, const ExpertStreamOptions& options);
    void fill_slot(int slot);
    void gather(int64_t first, int64_t bytes, std::byte* piece);

    Backend& device_;
    ExpertStreamOptions options_;
    ThreadPool pool_;
    Buffer slots_;  // [slots][slice_bytes]
    std::unique_ptr<UploadStream> uploads_;
    int next_slot_ = 0;
    std::vector<FfnMatrices> slice_;  // [E], those of the slice where they are placed, the others absent
    std::vector<ArrayCopy> copies_;   // of the slice, in ascending order
};

}  // namespace octavo
