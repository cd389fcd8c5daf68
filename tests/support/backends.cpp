#include "tests/support/backends.h"

#include "kernels/cuda/cuda.h"
#include "kernels/host_arrays.h"

namespace octavo::test {
namespace {

template <int threads, CpuIsa isa>
std::unique_ptr<Backend> make_cpu() {
    return make_cpu_backend(threads, isa);
}

std::unique_ptr<Backend> make_cuda_float32() {
    Result<std::unique_ptr<Backend>> backend = make_cuda_backend({.float32 = true});
    return backend ? on_host_arrays(std::move(*backend)) : nullptr;
}

}  // namespace

std::vector<BackendUnderTest> backends_under_test() {
    std::vector<BackendUnderTest> backends = {{"generic_1_thread", make_cpu<1, CpuIsa::generic>},
                                              {"generic_2_threads", make_cpu<2, CpuIsa::generic>}};
    if (detect_cpu_isa() >= CpuIsa::avx2) {
        backends.push_back({"avx2_1_thread", make_cpu<1, CpuIsa::avx2>});
        backends.push_back({"avx2_2_threads", make_cpu<2, CpuIsa::avx2>});
    }
    if (detect_cpu_isa() >= CpuIsa::avx512) {
        backends.push_back({"avx512_1_thread", make_cpu<1, CpuIsa::avx512>});
        backends.push_back({"avx512_2_threads", make_cpu<2, CpuIsa::avx512>});
    }
    if (make_cuda_float32() != nullptr) backends.push_back({"cuda_float32", make_cuda_float32});
    return backends;
}

}  // namespace octavo::test
