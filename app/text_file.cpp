#include "app/text_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

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

Result<std::string> read_bytes(const std::filesystem::path& path) {
    if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return Error{ErrorKind::input, fmt::format("{} is a folder: name a text file.", path.string())};
    std::ifstream in(path, std::ios::binary);
    if (!in) return Error{ErrorKind::io, fmt::format("{} could not be opened: check the name.", path.string())};
    std::string text(std::istreambuf_iterator<char>(in), {});
    if (in.bad()) return Error{ErrorKind::io, fmt::format("{} could not be read to its end.", path.string())};
    return text;
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

Result<std::string> read_text_file(const std::filesystem::path& path) {
    Result<std::string> text = read_bytes(path);
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
