# utf8proc (Unicode categories and normalisation): link octavo_utf8proc. The package's static library comes first, its
# shared one serves where there is none.
find_path(OCTAVO_UTF8PROC_INCLUDE utf8proc.h)
find_library(OCTAVO_UTF8PROC_LIBRARY NAMES libutf8proc.a utf8proc)
if(NOT OCTAVO_UTF8PROC_INCLUDE OR NOT OCTAVO_UTF8PROC_LIBRARY)
    message(FATAL_ERROR "utf8proc was not found: run tools/setup.")
endif()

cmake_path(GET OCTAVO_UTF8PROC_LIBRARY EXTENSION LAST_ONLY extension)
if(extension STREQUAL .a)
    message(STATUS "utf8proc: static, ${OCTAVO_UTF8PROC_LIBRARY}")
else()
    message(STATUS "utf8proc: SHARED, ${OCTAVO_UTF8PROC_LIBRARY} (the static library was not found)")
    list(APPEND OCTAVO_SHARED_DEPENDENCIES libutf8proc.so.2)
endif()

add_library(octavo_utf8proc INTERFACE)
target_include_directories(octavo_utf8proc SYSTEM INTERFACE ${OCTAVO_UTF8PROC_INCLUDE})
target_link_libraries(octavo_utf8proc INTERFACE ${OCTAVO_UTF8PROC_LIBRARY})
