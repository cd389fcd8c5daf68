# nlohmann-json, header-only: link nlohmann_json::nlohmann_json, include it in .cpp files only (slow to compile).
find_package(nlohmann_json REQUIRED)
message(STATUS "nlohmann-json ${nlohmann_json_VERSION}: header-only")
