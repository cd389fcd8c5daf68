#include "app/output.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "app/text_file.h"

namespace octavo {
namespace {

void print_to(std::FILE* stream, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
}

}  // namespace

void print_result(const JsonOption& json, std::string_view text) {
    if (!json.to_stdout()) print_to(stdout, text);
}

void print_error(std::string_view message) { print_to(stderr, fmt::format("octavo: {}\n", message)); }

int fail(const Error& error) {
    print_error(error.message);
    return exit_code(error.kind);
}

Status check_json_target(const JsonOption& json) {
    return json.wanted && json.file != "-" ? check_overwrites_json_only(json.file) : Status();
}

Status check_overwrites_json_only(const std::string& file) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) return {};
    std::ifstream in(file, std::ios::binary);
    const int first = in.get();
    if (first == std::ifstream::traits_type::eof() || first == '{' || first == '[') return {};
    return Error{ErrorKind::usage,
                 fmt::format("{} exists and is not JSON, so it is not overwritten: name another file.", file)};
}

Status write_json_text(const JsonOption& json, const std::string& text) {
    if (json.file != "-") return write_text_file(json.file, text + "\n");
    print_to(stdout, text + "\n");
    return {};
}

}  // namespace octavo
