# CUDA is optional. AUTO uses a toolkit that is found; ON insists on it; OFF never looks.
set(OCTAVO_CUDA AUTO CACHE STRING "Build the CUDA kernels: AUTO, ON or OFF")
set_property(CACHE OCTAVO_CUDA PROPERTY STRINGS AUTO ON OFF)
# Machine code for 7.5 and 8.0, which 8.6 and 8.9 run too; the driver translates the 8.0 code for anything newer.
set(OCTAVO_CUDA_ARCHITECTURES "75-real;80" CACHE STRING "GPUs to build for, as CMAKE_CUDA_ARCHITECTURES")

if(NOT OCTAVO_CUDA STREQUAL OFF)
    find_program(OCTAVO_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
endif()
if(NOT OCTAVO_CUDA STREQUAL OFF AND OCTAVO_NVCC)
    set(CMAKE_CUDA_COMPILER ${OCTAVO_NVCC})
    set(CMAKE_CUDA_ARCHITECTURES ${OCTAVO_CUDA_ARCHITECTURES})
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
    if(OCTAVO_CCACHE)
        set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
    set(OCTAVO_HAS_CUDA ON)
    message(STATUS "CUDA: ${OCTAVO_NVCC}, for ${OCTAVO_CUDA_ARCHITECTURES}")
elseif(OCTAVO_CUDA STREQUAL ON)
    message(FATAL_ERROR "OCTAVO_CUDA is ON, but nvcc was not found: install the CUDA toolkit or set CUDA_HOME.")
else()
    message(STATUS "CUDA: not used (OCTAVO_CUDA=${OCTAVO_CUDA})")
endif()

# octavo_cuda_kernels(target folder): adds the CUDA sources of a folder to a target, where there is a toolkit.
function(octavo_cuda_kernels target folder)
    if(NOT OCTAVO_HAS_CUDA)
        return()
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cu)
    target_sources(${target} PRIVATE ${sources})
    target_compile_definitions(${target} PRIVATE OCTAVO_HAS_CUDA)
    # Codecs write the same bytes on every back end: no multiplication is fused unless a kernel says so.
    target_compile_options(${target} PRIVATE
        # CMake 3.25 does not know that these compilers have C++20.
        $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-fmad=false;--expt-relaxed-constexpr;--extended-lambda;-Xcompiler=-Wall,-Wextra>
        $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endfunction()
