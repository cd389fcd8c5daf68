#include "models/safetensors/checkpoint.h"

#include <fmt/format.h>

#include <system_error>

#include "kernels/base/memory_platform.h"
#include "models/safetensors/header.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kExtension = ".safetensors";
constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr size_t kMaxIndexBytes = 64 << 20;

Error in_file(std::string_view file, const Error& error) {
    return {error.kind, fmt::format("{}: {}", file, error.message)};
}

struct FolderKind {
    bool checkpoint = false;
    std::string gguf;        // the first by name; empty: none
    std::string unreadable;  // why; empty: it was read
};

FolderKind kind_of(const std::filesystem::path& folder) {
    FolderKind kind;
    std::error_code error;
    std::filesystem::directory_iterator it(folder, error);
    for (const std::filesystem::directory_iterator end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name == kConfig || it->path().extension() == kExtension) kind.checkpoint = true;
        if (it->path().extension() == ".gguf" && (kind.gguf.empty() || name < kind.gguf)) kind.gguf = name;
    }
    if (error) kind.unreadable = error.message();
    return kind;
}

}  // namespace

Status check_checkpoint_folder(const std::filesystem::path& folder) {
    const FolderKind kind = kind_of(folder);
    if (kind.checkpoint) return {};
    if (!kind.unreadable.empty())
        return Error{ErrorKind::input, fmt::format("the folder cannot be read: {}", kind.unreadable)};
    if (kind.gguf.empty())
        return Error{ErrorKind::input,
                     "the folder has neither config.json nor safetensors; name a GGUF file or a "
                     "folder of safetensors"};
    return Error{ErrorKind::input,
                 fmt::format("it is a folder of GGUF files; name one of them, such as {}", quote_name(kind.gguf))};
}

bool is_missing(const std::filesystem::path& folder, const std::string& file) {
    std::error_code error;
    return std::filesystem::status(folder / file, error).type() == std::filesystem::file_type::not_found;
}

Result<std::vector<std::string>> weight_files(const std::filesystem::path& folder) {
    const auto index = read_text(folder, kIndex, kMaxIndexBytes);
    if (!index) return index.error();
    if (!*index && !is_missing(folder, std::string(kSingle))) return std::vector<std::string>{std::string(kSingle)};
    if (!*index) {
        return Error{ErrorKind::input,
                     fmt::format("the folder has neither {} nor {}; fetch what is missing", kSingle, kIndex)};
    }
    Result<std::vector<std::string>> files = parse_safetensors_index(**index);
    if (!files) return in_file(kIndex, files.error());
    return files;
}

Result<SafetensorsCheckpoint> open_safetensors(const std::filesystem::path& folder) {
    const Result<std::vector<std::string>> files = weight_files(folder);
    if (!files) return files.error();
    SafetensorsCheckpoint checkpoint;
    for (const std::string& file : *files) {
        if (is_missing(folder, file))
            return Error{ErrorKind::input, fmt::format("its file {} is missing; fetch it into the folder", file)};
        Result<MappedFile> opened = MappedFile::open(folder / file);
        if (!opened) return opened.error();
        auto mapped = std::make_shared<const MappedFile>(std::move(*opened));
        Result<std::vector<StoredTensor>> tensors = parse_safetensors(mapped->bytes());
        if (!tensors) return in_file(file, tensors.error());
        if (Status status = checkpoint.tensors.add(std::move(*tensors)); !status) return in_file(file, status.error());
        checkpoint.owners.push_back(std::move(mapped));
    }
    return checkpoint;
}

Result<std::optional<std::string>> read_text(const std::filesystem::path& folder, std::string_view file, size_t limit) {
    const std::filesystem::path path = folder / file;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::optional<std::string>();
    const Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped) return mapped.error();
    const auto bytes = mapped->bytes();
    if (bytes.size() > limit) {
        return Error{ErrorKind::input,
                     fmt::format("{} has {} bytes; at most {} are sensible", file, bytes.size(), limit)};
    }
    return std::optional(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace octavo
