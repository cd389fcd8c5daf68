#include "runtime/measure/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "kernels/base/buffer.h"
#include "kernels/base/memory_platform.h"
#include "kernels/base/thread_pool.h"
#include "kernels/cuda/cuda.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kLargestBuffer = int64_t{1} << 30;  // server processors have caches of hundreds of megabytes
constexpr int64_t kSmallestBuffer = int64_t{32} << 20;
constexpr int kFewestPasses = 4;
constexpr double kSeconds = 0.3;
constexpr size_t kLanes = 32;  // independent sums: adding must never be what takes the time

// `words` is a multiple of kLanes.
uint64_t sum_words(const uint64_t* data, size_t words) {
    uint64_t sums[kLanes] = {};
    for (size_t i = 0; i < words; i += kLanes)
        for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += data[i + lane];
    uint64_t sum = 0;
    for (const uint64_t part : sums) sum += part;
    return sum;
}

int64_t beyond_the_caches() {
    const auto free_bytes = static_cast<int64_t>(available_memory_bytes());
    return free_bytes == 0 ? kLargestBuffer / 4 : std::clamp(free_bytes / 4, kSmallestBuffer, kLargestBuffer);
}

}  // namespace

Result<ReadBandwidth> measure_read_bandwidth(int threads, int64_t buffer_bytes) {
    ThreadPool pool(threads);
    const auto count = static_cast<size_t>(pool.threads());
    const auto wanted = static_cast<size_t>(buffer_bytes > 0 ? buffer_bytes : beyond_the_caches());
    const size_t share_words = (wanted / (count * kLanes * sizeof(uint64_t)) + 1) * kLanes;
    const size_t bytes = share_words * count * sizeof(uint64_t);
    Result<Buffer> buffer = Buffer::allocate(bytes, "buffer of the bandwidth measurement");
    if (!buffer) return buffer.error();

    // Each thread first writes its share, so that the pages exist (and lie near it, where memory has places).
    auto* const data = buffer->as<uint64_t>();
    pool.run(pool.threads(), [&](int index, int) {
        std::memset(data + static_cast<size_t>(index) * share_words, 1, share_words * sizeof(uint64_t));
    });
    std::vector<uint64_t> sums(count);
    double best_seconds = 0;
    double all_seconds = 0;
    for (int pass = 0; pass < kFewestPasses || all_seconds < kSeconds; ++pass) {
        const auto start = Clock::now();
        pool.run(pool.threads(), [&](int index, int) {
            const auto at = static_cast<size_t>(index);
            sums[at] = sum_words(data + at * share_words, share_words);
        });
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        best_seconds = pass == 0 ? seconds : std::min(best_seconds, seconds);
        all_seconds += seconds;
    }
    // The sums are known; looking at them keeps the reads from being optimised away.
    for (const uint64_t sum : sums)
        if (sum != share_words * 0x0101010101010101u)
            return Error{ErrorKind::device, "Memory gave back other bytes than were written to it: test this machine."};
    return ReadBandwidth{static_cast<double>(bytes) / best_seconds / 1e9, pool.threads(), static_cast<int64_t>(bytes)};
}

Result<ReadBandwidth> measure_read_bandwidth(Engine& engine, int threads, int64_t buffer_bytes) {
    if (engine.info().memory.place == HostMemory().place()) return measure_read_bandwidth(threads, buffer_bytes);
    const char* const session_name = "bandwidth measurement";
    const int64_t bytes =
        buffer_bytes > 0 ? buffer_bytes : std::min(kLargestBuffer, static_cast<int64_t>(engine.info().free_bytes) / 4);
    const Result<double> measured =
        engine.call(session_name, [&](Session& session) { return cuda_read_gb_per_s(session.backend(), bytes); });
    engine.close_session(session_name);
    if (!measured) return measured.error();
    return ReadBandwidth{*measured, 0, bytes};
}

}  // namespace octavo
