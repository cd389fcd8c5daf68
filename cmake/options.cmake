# The options that every target of this project is compiled with: link octavo_options.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

find_program(OCTAVO_CCACHE ccache)
if(OCTAVO_CCACHE)
    # Relative paths let several checkouts share what was compiled once.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                    ${OCTAVO_CCACHE})
endif()

# The kernels ask for -O3 themselves (CMakeLists.txt); elsewhere it only makes the build slower and the file larger.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")

add_library(octavo_options INTERFACE)
target_compile_features(octavo_options INTERFACE cxx_std_20)
target_include_directories(octavo_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(octavo_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror>
    # Results must not depend on which multiplications the compiler fuses; kernels that want it say fma.
    $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
set(CMAKE_CXX_EXTENSIONS OFF)
