#include "models/gguf/checkpoint.h"

#include <fmt/format.h>

#include <string>

#include "kernels/base/memory_platform.h"
#include "models/gguf/gguf_file.h"
#include "models/gguf/shard_name.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kNumberKey = "split.no";
constexpr std::string_view kTensorsKey = "split.tensors.count";

Error bad(std::string message) { return {ErrorKind::input, std::move(message)}; }

Result<int64_t> shard_count(const GgufMetadata& metadata) {
    const auto count = metadata.integer(kCountKey);
    if (!count) return count.error();
    const int64_t shards = count->value_or(1);
    if (shards < 0 || shards > kMaxShards) {
        return bad(fmt::format("key '{}' is {}; expected 1 to {}", kCountKey, shards, kMaxShards));
    }
    return std::max<int64_t>(shards, 1);
}

std::string shard_suffix(int64_t number, int64_t count) { return fmt::format("-{:05}-of-{:05}.gguf", number, count); }

// "dir/name" of "dir/name-00002-of-00003.gguf".
Result<std::string> shard_stem(const std::filesystem::path& path, int64_t count) {
    const std::string text = path.string();
    for (int64_t number = 1; number <= count; ++number) {
        const std::string suffix = shard_suffix(number, count);
        if (text.ends_with(suffix)) return text.substr(0, text.size() - suffix.size());
    }
    return bad(
        fmt::format("key '{}' says the model is split in {} files, but this file's name does not end in '{}', "
                    "so the others cannot be found; keep the original names",
                    kCountKey, count, shard_suffix(1, count)));
}

struct OpenFile {
    std::shared_ptr<const MappedFile> mapped;
    GgufFile file;
};

Result<OpenFile> open_file(const std::filesystem::path& path) {
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped) return mapped.error();
    OpenFile opened;
    opened.mapped = std::make_shared<const MappedFile>(std::move(*mapped));
    Result<GgufFile> file = parse_gguf(opened.mapped->bytes());
    if (!file) return file.error();
    opened.file = std::move(*file);
    return opened;
}

Status check_shard(const GgufMetadata& metadata, int64_t number, int64_t count) {
    const Result<int64_t> own_count = shard_count(metadata);
    if (!own_count) return own_count.error();
    if (*own_count != count) {
        return bad(fmt::format("key '{}' is {}, but {} in the first file", kCountKey, *own_count, count));
    }
    const auto own_number = metadata.integer(kNumberKey);
    if (!own_number) return own_number.error();
    if (own_number->value_or(number - 1) != number - 1) {
        return bad(fmt::format("key '{}' is {}; expected {} by the file's name", kNumberKey, **own_number, number - 1));
    }
    return {};
}

// A shard of another model says so by another number of tensors.
Status check_same_total(const GgufMetadata& first, const GgufMetadata& shard) {
    const auto expected = first.integer(kTensorsKey);
    if (!expected) return expected.error();
    const auto total = shard.integer(kTensorsKey);
    if (!total) return total.error();
    if (!*expected || !*total || **expected == **total) return {};
    return bad(fmt::format("key '{}' is {}, but {} in the first file", kTensorsKey, **total, **expected));
}

Status add_shard(GgufCheckpoint& checkpoint, const std::filesystem::path& path, int64_t number, int64_t count) {
    Result<OpenFile> shard = open_file(path);
    if (!shard) return shard.error();
    if (Status status = check_shard(shard->file.metadata, number, count); !status) return status;
    if (Status status = check_same_total(checkpoint.metadata, shard->file.metadata); !status) return status;
    if (Status status = checkpoint.tensors.add(std::move(shard->file.tensors)); !status) return status;
    if (number == 1) checkpoint.metadata = std::move(shard->file.metadata);
    checkpoint.owners.push_back(std::move(shard->mapped));
    return {};
}

Result<GgufCheckpoint> open_shards(const std::filesystem::path& path, int64_t count) {
    const Result<std::string> stem = shard_stem(path, count);
    if (!stem) return stem.error();
    GgufCheckpoint checkpoint;
    for (int64_t number = 1; number <= count; ++number) {
        const std::filesystem::path shard = *stem + shard_suffix(number, count);
        if (Status status = add_shard(checkpoint, shard, number, count); !status) {
            return Error{status.error().kind,
                         fmt::format("file {} of {} ({}): {}", number, count, quote_name(shard.filename().string()),
                                     status.error().message)};
        }
    }
    const auto total = checkpoint.metadata.integer(kTensorsKey);
    if (!total) return total.error();
    const auto found = static_cast<int64_t>(checkpoint.tensors.tensors().size());
    if (total->value_or(found) != found) {
        return bad(fmt::format("key '{}' is {}, but the {} files hold {} tensors", kTensorsKey, **total, count, found));
    }
    return checkpoint;
}

Result<GgufCheckpoint> single(GgufFile file) {
    GgufCheckpoint checkpoint;
    checkpoint.metadata = std::move(file.metadata);
    if (Status status = checkpoint.tensors.add(std::move(file.tensors)); !status) return status.error();
    return checkpoint;
}

}  // namespace

Result<GgufCheckpoint> open_gguf(const std::filesystem::path& path) {
    Result<OpenFile> opened = open_file(path);
    if (!opened) return opened.error();
    const Result<int64_t> count = shard_count(opened->file.metadata);
    if (!count) return count.error();
    if (*count > 1) return open_shards(path, *count);
    Result<GgufCheckpoint> checkpoint = single(std::move(opened->file));
    if (checkpoint) checkpoint->owners.push_back(std::move(opened->mapped));
    return checkpoint;
}

Result<GgufCheckpoint> open_gguf(std::span<const std::byte> bytes) {
    Result<GgufFile> file = parse_gguf(bytes);
    if (!file) return file.error();
    const Result<int64_t> count = shard_count(file->metadata);
    if (!count) return count.error();
    if (*count > 1)
        return bad(fmt::format("key '{}' is {}; only a whole model can be read from memory", kCountKey, *count));
    return single(std::move(*file));
}

}  // namespace octavo
