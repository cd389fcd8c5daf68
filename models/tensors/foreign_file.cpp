#include "models/tensors/foreign_file.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace octavo {
namespace {

struct Kind {
    std::string_view start;  // in lower case, after white space
    std::string_view words;
};
constexpr Kind kKinds[] = {
    {"version https://git-lfs.github.com/spec", "a Git LFS pointer: fetch the file itself, with 'git lfs pull'"},
    {"<!doctype html", "a web page: fetch the file again, from its download link"},
    {"<html", "a web page: fetch the file again, from its download link"},
    {"<?xml", "XML, perhaps a server's error message: fetch the file again"},
    {"{", "JSON, perhaps a server's error message: fetch the file again"},
    {"pk\x03\x04", "a ZIP archive or a PyTorch checkpoint: unpack or convert it"},
};

}  // namespace

std::string_view foreign_file(std::span<const std::byte> file) {
    constexpr size_t kLooked = 64;
    std::string start(reinterpret_cast<const char*>(file.data()), std::min(file.size(), kLooked));
    std::transform(start.begin(), start.end(), start.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string_view text =
        std::string_view(start).substr(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
    for (const Kind& kind : kKinds)
        if (text.starts_with(kind.start)) return kind.words;
    return {};
}

}  // namespace octavo
