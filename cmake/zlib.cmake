# zlib, static: link ZLIB::ZLIB.
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB REQUIRED)
message(STATUS "zlib ${ZLIB_VERSION_STRING}: static, ${ZLIB_LIBRARIES}")
