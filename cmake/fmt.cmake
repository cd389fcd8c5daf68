# {fmt}: link octavo_fmt. Debian has it as a shared library or as headers only; headers only cost every file that
# formats a sentence two to three seconds. So the formatting core is compiled once, from the packaged header, and the
# program stays one file.
find_package(fmt REQUIRED)
message(STATUS "fmt ${fmt_VERSION}: static, compiled once from its headers")
add_library(octavo_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt_instances.cpp)
target_compile_features(octavo_fmt PUBLIC cxx_std_20)
