#include "kernels/cpu/cpu_backend.h"

#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

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

#if defined(__x86_64__)
// The 256-bit form, which compilers do not all know by name. Leaf 7, sub-leaf 1, bit 4 of EAX.
bool has_avx_vnni() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}
#endif

const Int8Kernels& int8_kernels(CpuIsa isa, bool dot_instructions) {
#if defined(__x86_64__)
    if (dot_instructions && isa >= CpuIsa::avx512 && __builtin_cpu_supports("avx512vnni")) {
        return avx512_vnni::int8_kernels();
    }
    if (dot_instructions && isa >= CpuIsa::avx2 && has_avx_vnni()) return avx_vnni::int8_kernels();
    if (isa >= CpuIsa::avx2) return avx2::int8_kernels();
#endif
    return generic::int8_kernels();
}

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

std::unique_ptr<Backend> make_cpu_backend(int threads, CpuIsa isa, bool dot_instructions) {
    return CpuBackend::create(threads, isa, dot_instructions);
}

CpuBackend::CpuBackend(int threads, CpuIsa isa, bool dot_instructions)
    : pool_(threads),
      isa_name_(isa),
      isa_(isa_entry(isa).kernels()),
      int8_(int8_kernels(isa, dot_instructions)),
      reference_(make_reference_backend()) {}

std::unique_ptr<CpuBackend> CpuBackend::create(int threads, CpuIsa isa, bool dot_instructions) {
    std::unique_ptr<CpuBackend> backend(new CpuBackend(threads, std::min(isa, detect_cpu_isa()), dot_instructions));
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
