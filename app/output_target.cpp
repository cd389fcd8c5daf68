#include "app/output_target.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace octavo {
namespace {

namespace fs = std::filesystem;

// Reports grow to a few MiB; a larger file is hardly one of ours, and reading it would take long.
constexpr uintmax_t kMaxJsonBytes = uintmax_t{64} << 20;

bool is_json(const fs::path& file, uintmax_t bytes) {
    if (bytes > kMaxJsonBytes) return false;
    std::ifstream in(file, std::ios::binary);
    return in && nlohmann::json::accept(in);
}

bool begins_with(const fs::path& file, std::string_view magic) {
    std::string start(magic.size(), '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(start.data(), static_cast<std::streamsize>(start.size()));
    return in && start == magic;
}

}  // namespace

Status check_writable(const fs::path& file) {
    std::error_code ignored;
    const fs::file_status status = fs::status(file, ignored);
    if (fs::is_directory(status))
        return Error{ErrorKind::usage, fmt::format("{} is a folder: name a file in it.", file.string())};
    const bool existed = fs::exists(status);
    if (existed && !fs::is_regular_file(status)) return {};  // a device or a pipe: opening it might have effects
    // Only opening tells the truth about permissions; in this mode it changes nothing.
    const bool opened = std::ofstream(file, std::ios::binary | std::ios::app).is_open();
    if (opened && !existed) fs::remove(file, ignored);
    if (opened) return {};
    return Error{ErrorKind::io,
                 fmt::format("{} cannot be written: check that its folder exists and the permissions.", file.string())};
}

Status check_overwrites_json_only(const fs::path& file) {
    std::error_code ignored;
    const bool exists = fs::is_regular_file(file, ignored);
    const uintmax_t bytes = exists ? fs::file_size(file, ignored) : 0;
    if (exists && bytes > 0 && !is_json(file, bytes))
        return Error{ErrorKind::usage, fmt::format("{} exists and is not JSON, so it is not overwritten: "
                                                   "name another file.",
                                                   file.string())};
    return check_writable(file);
}

Status check_overwrites_only(const fs::path& file, std::string_view magic, std::string_view kind) {
    if (file == "-") {
        return Error{ErrorKind::usage, fmt::format("-: {} is no text for standard output; name a file.", kind)};
    }
    std::error_code ignored;
    const bool holds_something = fs::is_regular_file(file, ignored) && fs::file_size(file, ignored) > 0;
    if (holds_something && !begins_with(file, magic)) {
        return Error{
            ErrorKind::usage,
            fmt::format("{} exists and is not {}, so it is not overwritten: name another file.", file.string(), kind)};
    }
    return check_writable(file);
}

}  // namespace octavo
