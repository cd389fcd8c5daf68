#include "models/random/random_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "kernels/base/fnv_hash.h"
#include "kernels/base/memory_error.h"
#include "kernels/base/thread_pool.h"
#include "models/gguf/checkpoint.h"
#include "models/gguf/file_type.h"
#include "models/gguf/header_writer.h"
#include "models/hybrid/config_writer.h"
#include "models/model_sources.h"
#include "models/random/byte_vocabulary.h"
#include "models/random/random_blocks.h"
#include "models/random/tensor_list.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTokenizerPrefix = "tokenizer.";
constexpr int64_t kChunkBlocks = 1 << 13;  // a few MiB at most

Error file_error(const fs::path& path, std::string_view what) {
    return {ErrorKind::io, fmt::format("{} {}", path.string(), what)};
}

// The keys of another file's tokenizer.
Status copy_tokenizer(const fs::path& path, int vocab, GgufHeaderWriter& header) {
    const Result<GgufCheckpoint> source = open_gguf(path);
    if (!source) return in_model_file(source.error(), path.string());
    const GgufEntry* tokens = source->metadata.find("tokenizer.ggml.tokens");
    if (tokens == nullptr) return Error{ErrorKind::input, fmt::format("{} has no tokenizer.", path.string())};
    if (tokens->count > static_cast<uint64_t>(vocab)) {
        return Error{ErrorKind::input, fmt::format("{} has {} tokens, but the shape has room for {}.", path.string(),
                                                   tokens->count, vocab)};
    }
    ModelText text;  // a model with a tokenizer that is broken could not be opened
    if (Status status = read_gguf_text(source->metadata, vocab, text); !status)
        return in_model_file(status.error(), path.string());
    if (!text.tokenizer) return in_model_file({ErrorKind::input, text.tokenizer_error}, path.string());
    for (const GgufEntry& entry : source->metadata.entries()) {
        if (entry.key.starts_with(kTokenizerPrefix)) header.entry(entry);
    }
    return {};
}

struct TypedTensor {
    ListedTensor tensor;
    const WeightTypeSpec* spec = nullptr;

    int64_t columns() const { return tensor.shape.back(); }
    int64_t values() const {
        int64_t count = 1;
        for (const int64_t extent : tensor.shape) count *= extent;
        return count;
    }
    int64_t blocks() const { return values() / spec->block_values; }
    int64_t bytes() const { return blocks() * spec->block_bytes; }
};

Result<std::vector<TypedTensor>> typed_tensors(const RandomFileRequest& request, const HybridDescription& description) {
    std::vector<TypedTensor> typed;
    for (ListedTensor& tensor : list_tensors(description)) {
        const uint32_t type = tensor_type(request.types, tensor, description.config.layers);
        const WeightTypeSpec* spec = find_weight_type(type);
        if (spec == nullptr || tensor.shape.back() % spec->block_values != 0) {
            return Error{ErrorKind::usage, fmt::format("{} has rows of {} values, which {} cannot hold.", tensor.name,
                                                       tensor.shape.back(), weight_type_name(type))};
        }
        typed.push_back({std::move(tensor), spec});
    }
    return typed;
}

void add_record(const TypedTensor& typed, GgufHeaderWriter& header) {
    const std::vector<uint64_t> extents(typed.tensor.shape.rbegin(), typed.tensor.shape.rend());
    header.tensor(typed.tensor.name, extents, typed.spec->gguf_id, static_cast<uint64_t>(typed.bytes()));
}

// A stream of its own for every tensor: what a tensor holds does not depend on the others.
RandomStream stream_of(uint64_t seed, std::string_view name) {
    FnvHash hash;
    hash.number(static_cast<int64_t>(seed));
    hash.bytes(std::as_bytes(std::span(name)));
    return RandomStream(hash.value());
}

float small_value(ValueKind kind, RandomStream& random) {
    const auto between = [&](double low, double high) { return low + (high - low) * random.next_unit(); };
    switch (kind) {
        case ValueKind::decay: return static_cast<float>(-std::exp(between(std::log(0.05), std::log(4.0))));
        case ValueKind::decay_bias: return static_cast<float>(between(-4, 0));
        default: return static_cast<float>(between(0.9, 1.1));
    }
}

// The file under its unfinished name; removed where `finish` is not reached.
class UnfinishedFile {
  public:
    UnfinishedFile(fs::path path, Job& job, int64_t total) : path_(std::move(path)), job_(job), total_(total) {}
    UnfinishedFile(const UnfinishedFile&) = delete;
    UnfinishedFile& operator=(const UnfinishedFile&) = delete;
    ~UnfinishedFile() {
        std::error_code ignored;
        if (created_ && !kept_) fs::remove(path_, ignored);
    }

    // At its full length: what is not written stays zero.
    Status create() {
        created_ = std::ofstream(path_, std::ios::binary | std::ios::trunc).is_open();
        if (!created_) return file_error(path_, "cannot be written: check that its folder exists and the permissions.");
        std::error_code error;
        fs::resize_file(path_, static_cast<uintmax_t>(total_), error);
        return error ? Status(full()) : Status();
    }

    Status finish(const fs::path& name) {
        std::error_code error;
        fs::rename(path_, name, error);
        if (error) return file_error(name, fmt::format("cannot be written: {}.", error.message()));
        kept_ = true;
        return {};
    }

    const fs::path& path() const { return path_; }
    // From any thread:
    bool cancelled() const { return job_.cancelled(); }
    void count(int64_t bytes) { job_.report(written_ += bytes, total_); }
    Error full() const {
        return file_error(
            path_, fmt::format("could not be written beyond {} of {}: the disk is full or failed; the "
                               "unfinished file was removed.",
                               format_bytes(static_cast<size_t>(written_)), format_bytes(static_cast<size_t>(total_))));
    }

  private:
    fs::path path_;
    Job& job_;
    int64_t total_;
    std::atomic<int64_t> written_ = 0;
    bool created_ = false;
    bool kept_ = false;
};

// Writes on from a position. One thread's.
class FileWriter {
  public:
    FileWriter(UnfinishedFile& file, int64_t position)
        : file_(file), out_(file.path(), std::ios::binary | std::ios::in | std::ios::out) {
        out_.seekp(position);
    }

    Status write(std::span<const std::byte> bytes) {
        if (file_.cancelled()) return Error{ErrorKind::cancelled, "Cancelled; the unfinished file was removed."};
        out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        if (!out_.flush()) return file_.full();
        file_.count(static_cast<int64_t>(bytes.size()));
        return {};
    }

  private:
    UnfinishedFile& file_;
    std::fstream out_;
};

Status write_small(const TypedTensor& typed, RandomStream& random, FileWriter& file) {
    std::vector<float> values(static_cast<size_t>(typed.values()));
    for (float& value : values) value = small_value(typed.tensor.values, random);
    return file.write(std::as_bytes(std::span(values)));
}

Status write_tensor(const TypedTensor& typed, uint64_t seed, FileWriter& file) {
    RandomStream random = stream_of(seed, typed.tensor.name);
    const ValueKind kind = typed.tensor.values;
    if (kind != ValueKind::product && kind != ValueKind::embedding) return write_small(typed, random, file);
    const float deviation = kind == ValueKind::embedding ? 1.0f : 1.0f / std::sqrt(static_cast<float>(typed.columns()));
    const RandomBlocks blocks(*typed.spec, deviation);
    const auto block_bytes = static_cast<size_t>(typed.spec->block_bytes);
    std::vector<std::byte> chunk(static_cast<size_t>(std::min(kChunkBlocks, typed.blocks())) * block_bytes);
    for (int64_t left = typed.blocks(); left > 0; left -= kChunkBlocks) {
        const std::span part(chunk.data(), static_cast<size_t>(std::min(kChunkBlocks, left)) * block_bytes);
        blocks.fill(part, random);
        if (Status status = file.write(part); !status) return status;
    }
    return {};
}

// On all cores: most of the time goes into the system's copies of what is written.
Status write_tensors(const std::vector<TypedTensor>& tensors, const GgufHeaderWriter::Layout& layout, uint64_t seed,
                     UnfinishedFile& file) {
    std::vector<Status> outcomes(tensors.size());
    std::atomic<bool> failed = false;
    ThreadPool pool;
    pool.run(static_cast<int>(tensors.size()), [&](int index, int) {
        const auto i = static_cast<size_t>(index);
        if (failed) return;
        FileWriter writer(file, static_cast<int64_t>(layout.header.size() + layout.offsets[i]));
        outcomes[i] = write_tensor(tensors[i], seed, writer);
        if (!outcomes[i]) failed = true;
    });
    const auto bad = std::find_if(outcomes.begin(), outcomes.end(), [](const Status& status) { return !status; });
    return bad == outcomes.end() ? Status() : *bad;
}

Status check_room(const fs::path& path, int64_t bytes) {
    std::error_code error;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    const fs::space_info space = fs::space(folder, error);
    if (error || space.available >= static_cast<uintmax_t>(bytes)) return {};
    return file_error(path, fmt::format("needs {}, but the disk has {} free: make room, or write fewer --layers or "
                                        "--experts.",
                                        format_bytes(static_cast<size_t>(bytes)), format_bytes(space.available)));
}

// Under this name the file is written; it gets its own at the end.
fs::path unfinished_name(const fs::path& path) {
    fs::path name = path;
    name += ".part";
    return name;
}

// Renaming a file over a device would replace the device, for every program on the machine: no option allows that.
Status check_target(const RandomFileRequest& request, const fs::path& path) {
    if (path == "-") return Error{ErrorKind::usage, "-: a model is no text for standard output; name a file."};
    for (const fs::path& name : {path, unfinished_name(path)}) {
        std::error_code ignored;
        const fs::file_status status = fs::symlink_status(name, ignored);
        if (!fs::exists(status)) continue;
        if (fs::is_directory(name, ignored))
            return Error{ErrorKind::usage, fmt::format("{} is a folder: name a file in it.", name.string())};
        if (!fs::is_regular_file(status))
            return Error{ErrorKind::usage, fmt::format("{} is a link or a device: name another file.", name.string())};
        if (!request.overwrite)
            return Error{ErrorKind::usage,
                         fmt::format("{} exists: name another file, or overwrite it with --force.", name.string())};
    }
    return {};
}

Status write_keys(const RandomFileRequest& request, const HybridDescription& description, GgufHeaderWriter& header) {
    const ModelShape& shape = *request.shape;
    header.text("general.name", fmt::format("Random {}", shape.name));
    if (const auto type = find_file_type(type_mix_name(request.types)))
        header.u32("general.file_type", static_cast<uint32_t>(*type));
    write_hybrid_config(description, shape.theta, header);
    if (!request.tokenizer.empty()) return copy_tokenizer(request.tokenizer, description.config.vocab, header);
    write_byte_vocabulary(description.config.vocab, first_added_token(shape, request.changes), shape.split_rule,
                          header);
    return {};
}

}  // namespace

Result<RandomFile> write_random_model(const RandomFileRequest& request, const fs::path& path, Job& job) {
    if (Status status = check_target(request, path); !status) return status.error();
    const HybridDescription description = describe_shape(*request.shape, request.changes);
    const Result<std::vector<TypedTensor>> tensors = typed_tensors(request, description);
    if (!tensors) return tensors.error();
    GgufHeaderWriter header;
    if (Status status = write_keys(request, description, header); !status) return status.error();
    RandomFile made;
    for (const TypedTensor& typed : *tensors) {
        add_record(typed, header);
        made.parameters += typed.values();
    }
    const GgufHeaderWriter::Layout layout = header.finish();
    made.tensors = static_cast<int>(tensors->size());
    made.bytes = static_cast<int64_t>(layout.header.size() + layout.data_bytes);
    if (Status status = check_room(path, made.bytes); !status) return status.error();

    UnfinishedFile file(unfinished_name(path), job, made.bytes);
    if (Status status = file.create(); !status) return status.error();
    if (Status status = FileWriter(file, 0).write(std::as_bytes(std::span(layout.header))); !status)
        return status.error();
    if (Status status = write_tensors(*tensors, layout, request.seed, file); !status) return status.error();
    if (Status status = file.finish(path); !status) return status.error();
    return made;
}

}  // namespace octavo
