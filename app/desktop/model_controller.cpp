#include "app/desktop/model_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/printable_text.h"
#include "app/size_text.h"
#include "kernels/base/cpu_platform.h"

namespace octavo {
namespace {

std::string file_name(const std::string& path) {
    return path.empty() ? "Pocket (part of this program)" : std::filesystem::path(path).filename().string();
}

std::string quantisation(const Model& model) {
    std::string text;
    for (const auto& [type, bytes] : model.bytes_by_type)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", bytes_text(bytes), printable_line(type));
    return text;
}

std::string parameters_text(int64_t parameters) {
    const auto count = static_cast<double>(parameters);
    return count >= 1e9 ? fmt::format("{:.1f} B parameters", count / 1e9)
                        : fmt::format("{:.1f} M parameters", count / 1e6);
}

ModelState::Loaded describe(const ModelLoaded& loaded, const std::string& path) {
    const Model& model = *loaded.model;
    ModelState::Loaded state;
    state.path = path;
    state.name = printable_line(model.name);
    state.architecture = printable_line(model.format);
    state.parameters = parameters_text(model.parameters);
    state.quantisation = quantisation(model);
    state.bytes = model.weight_bytes;
    state.layers = model.config.layers;
    state.attention_layers = kv_shape(model.config).layers;
    state.context_tokens = model.config.context_length;
    state.placement = fmt::format("everything on {}", loaded.info.backend);
    return state;
}

}  // namespace

ModelController::ModelController(const Services& services, std::function<void()> changed,
                                 ModelFinder::OtherPlaces other_places)
    : services_(services), changed_(std::move(changed)), finder_(services_, changed_, std::move(other_places)) {
    struct Gpu {
        std::string problem;
        int64_t free_bytes = 0;
    };
    services_.ask_files(
        [] {
            const Result<std::unique_ptr<Backend>> cuda = open_backend({DeviceChoice::cuda, 1});
            if (!cuda) return Gpu{cuda.error().message};
            return Gpu{"", static_cast<int64_t>((*cuda)->memory().free_bytes())};
        },
        [this](Gpu gpu) {
            cuda_problem_ = std::move(gpu.problem);
            gpu_bytes_ = gpu.free_bytes;
            changed_();
        });
}

void ModelController::remember(const Settings& settings) {
    last_path_ = settings.text("model_path").value_or("");
    device_ = settings.text("device").value_or("auto");
    if (!parse_device(device_)) device_ = "auto";
    gpu_budget_bytes_ = std::max<int64_t>(0, settings.integer("gpu_budget_bytes").value_or(0));
    finder_.remember(settings);
}

void ModelController::save() const {
    Settings settings;
    settings.set_text("model_path", last_path_);
    settings.set_text("device", device_);
    settings.set_integer("gpu_budget_bytes", gpu_budget_bytes_);
    finder_.save_to(settings);
    services_.store.post([settings](Store& store) { return store.save_settings(settings); });
}

void ModelController::load(const std::string& path) { start(path, default_kv_equalise); }
void ModelController::load_with(KvEqualise equalise) { start(path_, equalise); }

void ModelController::start(const std::string& path, KvEqualise equalise) {
    const Result<DeviceChoice> device = parse_device(device_);
    last_path_ = path;
    equalise_ = equalise;
    error_.clear();
    loading_ = ModelState::Loading{file_name(path), 0, 0, false};
    loaded_budget_bytes_ = gpu_budget_bytes_;
    services_.engine.load_model({path, device ? *device : DeviceChoice::automatic, 0, equalise, gpu_budget_bytes_});
    changed_();
}

void ModelController::cancel() {
    if (!loading_) return;
    loading_->cancelling = true;
    services_.engine.cancel_load();
    changed_();
}

void ModelController::set_device(const std::string& id) {
    if (!parse_device(id) || id == device_) return;
    device_ = id;
    save();
    if (loaded_) start(path_, loaded_->info.equalise);
    changed_();
}

void ModelController::set_gpu_budget(int64_t bytes) {
    gpu_budget_bytes_ = std::max<int64_t>(0, bytes);
    save();
    changed_();
}

void ModelController::apply_gpu_budget() { start(loaded_ ? path_ : last_path_, equalise_); }

void ModelController::add_folder(const std::string& folder) {
    finder_.add_folder(folder);
    save();
}

void ModelController::remove_folder(const std::string& folder) {
    finder_.remove_folder(folder);
    save();
}

void ModelController::rescan() { finder_.search(); }

void ModelController::on(const ModelLoading& event) {
    if (!loading_) return;
    loading_->done_bytes = event.bytes.done;
    loading_->total_bytes = event.bytes.total;
    changed_();
}

void ModelController::on(const ModelLoaded& event) {
    loaded_ = event;
    path_ = last_path_;
    loading_.reset();
    error_.clear();
    finder_.used(path_);
    save();
    for (const std::string& note : event.notes)
        services_.notices.add(NoticeKind::information, note, "model note " + note);
    changed_();
}

void ModelController::on(const ModelFailed& event) {
    loading_.reset();
    error_ = event.error.message;
    if (!event.former_kept) loaded_.reset();
    std::vector<Notice::Button> buttons;
    if (!loaded_ && !last_path_.empty()) buttons.push_back({"Use Pocket", action::LoadModel{""}});
    services_.notices.add(event.error.kind == ErrorKind::cancelled ? NoticeKind::information : NoticeKind::error,
                          event.error.message, "load", std::move(buttons));
    last_path_ = path_;
    changed_();
}

void ModelController::fill(ModelState& state) const {
    state.loaded.reset();
    if (loaded_) state.loaded = describe(*loaded_, path_);
    state.loading = loading_;
    state.error = error_;
    state.devices = {{"auto", "Automatic", ""}, {"cpu", "Processor (CPU)", ""}};
    state.devices.push_back({"cuda", "NVIDIA GPU (CUDA)", cuda_problem_});
    state.device = device_;
    finder_.fill(state);
    state.machine = machine_text();
}

void ModelController::fill(EngineState& state) const {
    if (loaded_) {
        state.model = printable_line(loaded_->model->name);
        state.device = loaded_->info.backend;
    }
    if (loading_) {
        state.phase = EnginePhase::loading;
        state.done = loading_->done_bytes;
        state.total = loading_->total_bytes;
        state.stopping = loading_->cancelling;
    } else if (!loaded_) {
        state.phase = error_.empty() ? EnginePhase::no_model : EnginePhase::failed;
        state.error = error_;
    } else {
        state.phase = EnginePhase::idle;
    }
}

void ModelController::fill(GpuBudgetState& state) const {
    state.available = cuda_problem_.empty() && device_ != "cpu";
    state.bytes = gpu_budget_bytes_;
    state.most_bytes = std::max(gpu_bytes_, gpu_budget_bytes_);
    state.applied = gpu_budget_bytes_ == loaded_budget_bytes_ || loading_.has_value();
    state.refusal = loaded_ ? loaded_->info.gpu_refusal : error_;
}

std::string ModelController::machine_text() const {
    const MachineMemory memory = services_.engine.machine_memory();
    if (memory.total == 0) return "This system does not say how much memory it has.";
    return fmt::format("This machine has {} of memory, {} of it free, and {} cores; no GPU is used.",
                       bytes_text(static_cast<int64_t>(memory.total)),
                       bytes_text(static_cast<int64_t>(memory.available)), usable_physical_cores());
}

}  // namespace octavo
