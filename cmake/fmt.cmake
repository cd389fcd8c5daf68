# {fmt}, header-only: link fmt::fmt-header-only.
find_package(fmt REQUIRED)
message(STATUS "fmt ${fmt_VERSION}: header-only")
