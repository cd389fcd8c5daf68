#include "kernels/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace octavo {

namespace {

struct IsaEntry {
    std::string_view name;
    const IsaKernels& (*kernels)();
};

#if defined(__x86_64__)
constexpr IsaEntry kIsas[] = {
    {"generic", generic::isa_kernels}, {"avx2", avx2::isa_kernels}, {"avx512", avx512::isa_kernels}};
#else
constexpr IsaEntry kIsas[] = {{"generic", generic::isa_kernels}};
#endif

const IsaEntry& isa_entry(CpuIsa isa) { return kIsas[static_cast<int>(isa)]; }

}  // namespace

// The features asked for are those that cmake/isa.cmake compiles each variant with (f16c comes with every AVX2).
CpuIsa detect_cpu_isa() {
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512) return CpuIsa::avx512;
    if (avx2) return CpuIsa::avx2;
#endif
    return CpuIsa::generic;
}

std::unique_ptr<Backend> make_cpu_backend(int threads, CpuIsa isa) { return CpuBackend::create(threads, isa); }

CpuBackend::CpuBackend(int threads, CpuIsa isa)
    : pool_(threads), isa_name_(isa), isa_(isa_entry(isa).kernels()), reference_(make_reference_backend()) {}

std::unique_ptr<CpuBackend> CpuBackend::create(int threads, CpuIsa isa) {
    std::unique_ptr<CpuBackend> backend(new CpuBackend(threads, std::min(isa, detect_cpu_isa())));
    Result<Buffer> worker = Buffer::allocate(
        static_cast<size_t>(backend->pool_.threads()) * kWorkerScratchFloats * sizeof(float), "CPU worker scratch");
    Result<Buffer> shared = Buffer::allocate(kSharedScratchBytes, "CPU scratch");
    if (!worker || !shared) return nullptr;
    backend->worker_scratch_ = std::move(*worker);
    backend->shared_scratch_ = std::move(*shared);
    return backend;
}

std::string CpuBackend::name() const {
    return fmt::format("cpu, {}, {} thread{}", isa_entry(isa_name_).name, pool_.threads(),
                       pool_.threads() == 1 ? "" : "s");
}

}  // namespace octavo
