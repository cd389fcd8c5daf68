#include "app/text_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <system_error>

#include "app/size_text.h"

namespace octavo {
namespace {

// Length of the well-formed character at the start of `text`; 0 when there is none.
size_t utf8_character_bytes(std::string_view text) {
    const auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
    const unsigned char lead = byte(0);
    if (lead == 0) return 0;
    if (lead < 0x80) return 1;
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // No overlong forms, no surrogates, nothing above U+10FFFF.
    if (lead == 0xe0 && byte(1) < 0xa0) return 0;
    if (lead == 0xed && byte(1) > 0x9f) return 0;
    if (lead == 0xf0 && byte(1) < 0x90) return 0;
    if (lead == 0xf4 && byte(1) > 0x8f) return 0;
    return length;
}

Error too_long(const std::string& name, size_t max_bytes) {
    return {ErrorKind::input, fmt::format("{} is longer than {}, the most that is read as text: take a part of it.",
                                          name, bytes_text(static_cast<int64_t>(max_bytes)))};
}

// To the end of `in`, or refused once it goes beyond the limit: an endless pipe must not fill the memory.
Result<std::string> read_stream(std::istream& in, const std::string& name, size_t max_bytes) {
    std::string text;
    std::string part(1 << 16, '\0');
    while (in) {
        in.read(part.data(), static_cast<std::streamsize>(part.size()));
        text.append(part, 0, static_cast<size_t>(in.gcount()));
        if (text.size() > max_bytes) return too_long(name, max_bytes);
    }
    if (in.bad()) return Error{ErrorKind::io, fmt::format("{} could not be read to its end.", name)};
    return text;
}

Result<std::string> read_bytes(const std::filesystem::path& path, size_t max_bytes) {
    if (path == "-") return read_stream(std::cin, "Standard input", max_bytes);
    const std::string name = path.string();
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status))
        return Error{ErrorKind::input, fmt::format("{} is a folder: name a text file.", name)};
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        return Error{ErrorKind::input,
                     fmt::format("{} is a device or a pipe: name a text file, or '-' for standard input.", name)};
    std::ifstream in(path, std::ios::binary);
    if (!in) return Error{ErrorKind::io, fmt::format("{} could not be opened: check name and permissions.", name)};
    const uintmax_t bytes = std::filesystem::file_size(path, error);
    if (!error && bytes > max_bytes)
        return Error{ErrorKind::input,
                     fmt::format("{} has {}; at most {} are read as text: take a part of it.", name,
                                 bytes_text(static_cast<int64_t>(bytes)), bytes_text(static_cast<int64_t>(max_bytes)))};
    return read_stream(in, name, max_bytes);
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8_character_bytes(text.substr(at));
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

Status check_text(std::string_view what, std::string_view text) {
    const size_t invalid = find_invalid_utf8(text);
    if (invalid == std::string_view::npos) return {};
    return Error{ErrorKind::input,
                 fmt::format("{} is not UTF-8 text (byte {} is not text): convert it to UTF-8 first.", what, invalid)};
}

Result<std::string> read_text_file(const std::filesystem::path& path, size_t max_bytes) {
    Result<std::string> text = read_bytes(path, max_bytes);
    if (!text) return text.error();
    if (text->starts_with("\xef\xbb\xbf")) text->erase(0, 3);  // byte order mark
    const size_t invalid = find_invalid_utf8(*text);
    if (invalid != std::string::npos)
        return Error{ErrorKind::input,
                     fmt::format("{} is not a UTF-8 text file (byte {} is not text): convert it to UTF-8 first.",
                                 path == "-" ? "Standard input" : path.string(), invalid)};
    return text;
}

Status write_text_file(const std::filesystem::path& path, std::string_view text) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.flush();
    if (!out)
        return Error{ErrorKind::io,
                     fmt::format("{} could not be written: check the folder and free space.", path.string())};
    return {};
}

}  // namespace octavo
