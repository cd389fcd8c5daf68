#include "app/desktop/model_loader.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "app/model_choice.h"
#include "app/user_folders.h"
#include "runtime/kv/calibration.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr std::streamsize kReadBytes = 4 << 20;

Error load_cancelled() { return {ErrorKind::cancelled, "Loading the model was cancelled."}; }

// A file, or the weights of a folder.
std::vector<fs::path> weight_files(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return {path};
    std::vector<fs::path> files;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
        if (it->path().extension() == ".safetensors") files.push_back(it->path());
    return files;
}

int64_t total_bytes(const std::vector<fs::path>& files) {
    int64_t total = 0;
    for (const fs::path& file : files) {
        std::error_code error;
        const uintmax_t bytes = fs::file_size(file, error);
        if (!error) total += static_cast<int64_t>(bytes);
    }
    return total;
}

}  // namespace

Status ModelLoader::read_ahead() {
    if (request_->path.empty()) return {};  // part of the program
    const std::vector<fs::path> files = weight_files(request_->path);
    const int64_t total = total_bytes(files);
    // A file larger than the free memory would push itself out again.
    if (static_cast<size_t>(total) > available_memory_bytes()) return {};
    std::vector<char> buffer(kReadBytes);
    int64_t done = 0;
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);  // one that cannot be read is reported when it is opened
        while (in) {
            if (job_->cancelled()) return load_cancelled();
            in.read(buffer.data(), kReadBytes);
            done += in.gcount();
            report_({"reading the file", {done, total}});
        }
    }
    return {};
}

Result<std::shared_ptr<const Model>> ModelLoader::open() {
    report_({"opening the model", {}});
    // Before the file is read as a whole: whether it can be used at all.
    Result<std::shared_ptr<const Model>> model = open_chosen_model(request_->path);
    if (!model) return model.error();
    if (Status status = need_chat(**model); !status) return status.error();
    if (Status status = read_ahead(); !status) return status.error();
    if (job_->cancelled()) return load_cancelled();
    return model;
}

Result<ModelLoader::Started> ModelLoader::start(std::shared_ptr<const Model> model) {
    report_({"preparing the engine", {}});
    EngineOptions options;
    options.device = request_->device;
    options.threads = request_->threads;
    options.gpu_budget_bytes = request_->gpu_budget_bytes;
    options.session.equalise = request_->equalise;
    Started started{nullptr, std::move(model), {}};
    started.notes = started.model->notes;
    if (request_->equalise != KvEqualise::off) {
        report_({"measuring the channels of keys and values", {}});
        const Result<std::unique_ptr<Backend>> backend = open_backend(options);
        if (!backend) return backend.error();
        Result<PreparedModel> prepared =
            prepare_channels(started.model, {request_->equalise, 0, user_cache_folder()}, **backend, *job_);
        if (!prepared) return prepared.error();
        started.model = std::move(prepared->model);
        started.notes.insert(started.notes.end(), prepared->notes.begin(), prepared->notes.end());
    }
    Result<std::unique_ptr<Engine>> engine = Engine::create(started.model, options);
    if (!engine) return engine.error();
    started.engine = std::move(*engine);
    return started;
}

}  // namespace octavo
