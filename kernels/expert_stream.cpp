#include "kernels/expert_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/cpu_platform.h"

namespace octavo {
namespace {

// Half of the cores keep up with a bus, and leave the machine's power to its device.
constexpr int kMostThreads = 8;
constexpr int64_t kTaskBytes = int64_t{256} << 10;

}  // namespace

Result<std::unique_ptr<ExpertStream>> ExpertStream::create(Backend& device, ExpertStreamOptions options) {
    const int threads = options.threads > 0 ? options.threads : usable_physical_cores();
    options.threads = std::clamp(threads / 2, std::min(threads, 2), kMostThreads);
    const auto slots = [&](int count) {
        options.uploads.slots = count;
        return device.memory().allocate(static_cast<size_t>(count * options.slice_bytes), "experts that travel");
    };
    Result<Buffer> memory = slots(2);
    if (!memory && memory.error().kind == ErrorKind::memory) memory = slots(1);
    if (!memory) return memory.error();
    auto* const ahead = dynamic_cast<UploadsAhead*>(&device);
    Result<std::unique_ptr<UploadStream>> uploads = ahead != nullptr
                                                        ? ahead->upload_stream(options.uploads)
                                                        : make_plain_upload_stream(device.memory(), options.uploads);
    if (!uploads) return uploads.error();
    std::unique_ptr<ExpertStream> stream(new ExpertStream(device, options));
    stream->slots_ = std::move(*memory);
    stream->uploads_ = std::move(*uploads);
    return stream;
}

ExpertStream::ExpertStream(Backend& device, const ExpertStreamOptions& options)
    : device_(device), options_(options), pool_(options.threads) {}

void ExpertStream::moe(Moe op) {
    const std::span<const FfnMatrices> experts = op.experts;
    op.shared = nullptr;
    op.host_experts = {};
    for (size_t first = 0; first < experts.size();) {
        slice_.clear();
        for (const FfnMatrices& expert : experts) slice_.push_back(absent_ffn(expert));
        copies_.clear();
        std::byte* const slot = slots_.data() + next_slot_ * options_.slice_bytes;
        int64_t used = 0;
        for (; first < experts.size(); ++first) {
            if (experts[first].absent()) continue;
            const int64_t bytes = placed_ffn_bytes(experts[first]);
            if (used + bytes > options_.slice_bytes) break;
            slice_[first] = lay_out_ffn(experts[first], slot + used, copies_);
            used += bytes;
        }
        if (copies_.empty()) return;
        fill_slot(next_slot_);
        op.experts = slice_;
        device_.moe(op);
        uploads_->release(next_slot_);
        next_slot_ = (next_slot_ + 1) % options_.uploads.slots;
    }
}

void ExpertStream::fill_slot(int slot) {
    std::byte* const base = copies_.front().to;
    const int64_t bytes = copies_.back().to + copies_.back().bytes - base;
    const auto piece_bytes = static_cast<int64_t>(options_.uploads.piece_bytes);
    uploads_->begin(slot);
    for (int64_t first = 0; first < bytes; first += piece_bytes) {
        const int64_t count = std::min(piece_bytes, bytes - first);
        std::byte* const piece = uploads_->piece();
        const auto tasks = static_cast<int>((count + kTaskBytes - 1) / kTaskBytes);
        pool_.run(tasks, [&](int task, int) {
            const int64_t begin = task * kTaskBytes;
            gather(first + begin, std::min(kTaskBytes, count - begin), piece + begin);
        });
        uploads_->send(base + first, static_cast<size_t>(count));
    }
    uploads_->end();
}

// [first, first + bytes) of the slice, counted from its start. What lies between arrays is left as it is.
void ExpertStream::gather(int64_t first, int64_t bytes, std::byte* piece) {
    const std::byte* const base = copies_.front().to;
    const auto ends_before = [&](const ArrayCopy& copy, int64_t at) { return copy.to + copy.bytes - base <= at; };
    auto copy = std::lower_bound(copies_.begin(), copies_.end(), first, ends_before);
    for (; copy != copies_.end() && copy->to - base < first + bytes; ++copy) {
        const int64_t start = copy->to - base;
        const int64_t from = std::max(first, start);
        const int64_t to = std::min(first + bytes, start + copy->bytes);
        std::memcpy(piece + (from - first), copy->from + (from - start), static_cast<size_t>(to - from));
    }
}

}  // namespace octavo
