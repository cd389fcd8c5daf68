# SQLite with FTS5: link octavo_sqlite. The package's static library comes first, its shared one serves where there is none.
find_path(OCTAVO_SQLITE_INCLUDE sqlite3.h)
find_library(OCTAVO_SQLITE_LIBRARY NAMES libsqlite3.a sqlite3)
if(NOT OCTAVO_SQLITE_INCLUDE OR NOT OCTAVO_SQLITE_LIBRARY)
    message(FATAL_ERROR "SQLite was not found: run tools/setup.")
endif()

cmake_path(GET OCTAVO_SQLITE_LIBRARY EXTENSION LAST_ONLY extension)
if(extension STREQUAL .a)
    message(STATUS "SQLite: static, ${OCTAVO_SQLITE_LIBRARY}")
else()
    message(STATUS "SQLite: SHARED, ${OCTAVO_SQLITE_LIBRARY} (the static library was not found)")
    list(APPEND OCTAVO_SHARED_DEPENDENCIES libsqlite3.so.0)
endif()

add_library(octavo_sqlite INTERFACE)
target_include_directories(octavo_sqlite SYSTEM INTERFACE ${OCTAVO_SQLITE_INCLUDE})
target_link_libraries(octavo_sqlite INTERFACE ${OCTAVO_SQLITE_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
