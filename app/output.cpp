#include "app/output.h"

#include <fmt/format.h>

#include <cstdio>
#include <system_error>

#include "app/printable_text.h"
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

// Messages may quote files.
void print_error(std::string_view message) { print_to(stderr, fmt::format("octavo: {}\n", printable_text(message))); }

int fail(const Error& error) {
    print_error(error.message);
    return exit_code(error.kind);
}

int end_output(int exit_code) {
    const bool flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0) return exit_code;
    const int code =
        fail({ErrorKind::io, "standard output could not be written to its end: it is closed, or the disk is full."});
    return exit_code == 0 ? code : exit_code;
}

Status check_json_target(const JsonOption& json) {
    return json.wanted && json.file != "-" ? check_overwrites_json_only(json.file) : Status();
}

Status check_json_apart(const JsonOption& json, const std::filesystem::path& output) {
    if (!json.wanted || json.file == "-" || output.empty()) return {};
    const auto real = [](const std::filesystem::path& file) {
        std::error_code ignored;  // what cannot be looked at is reported when it is written
        return std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
    };
    if (real(json.file) != real(output)) return {};
    return Error{ErrorKind::usage, fmt::format("{}: -o and --json name the same file: name two.", output.string())};
}

Status write_json_text(const JsonOption& json, const std::string& text) {
    if (json.file != "-") return write_text_file(json.file, text + "\n");
    print_to(stdout, text + "\n");
    return {};
}

}  // namespace octavo
