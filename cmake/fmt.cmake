# {fmt}: link octavo_fmt. The static library that tools/setup builds comes first; without it the package is used
# header-only, which works as well but makes every file that includes it slow to compile.
set(prefix ${OCTAVO_CACHE}/fmt)
find_library(OCTAVO_FMT_LIBRARY NAMES libfmt.a HINTS ${prefix}/lib NO_DEFAULT_PATH)

add_library(octavo_fmt INTERFACE)
if(OCTAVO_FMT_LIBRARY)
    message(STATUS "fmt: static, ${OCTAVO_FMT_LIBRARY}")
    target_include_directories(octavo_fmt SYSTEM INTERFACE ${prefix}/include)
    target_link_libraries(octavo_fmt INTERFACE ${OCTAVO_FMT_LIBRARY})
else()
    find_package(fmt REQUIRED)
    message(STATUS "fmt ${fmt_VERSION}: HEADER-ONLY (the static library was not found)")
    target_link_libraries(octavo_fmt INTERFACE fmt::fmt-header-only)
endif()
