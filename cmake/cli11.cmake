# CLI11, header-only: link CLI11::CLI11.
find_package(CLI11 REQUIRED)
message(STATUS "CLI11 ${CLI11_VERSION}: header-only")
