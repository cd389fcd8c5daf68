#include "app/desktop/model_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "app/printable_text.h"
#include "app/size_text.h"

namespace octavo {
namespace {

constexpr size_t kRecentModels = 20;

std::string details_of(const LibraryModel& model) {
    std::string text;
    const auto add = [&](const std::string& fact) {
        if (!fact.empty()) text += (text.empty() ? "" : ", ") + printable_line(fact);
    };
    add(model.architecture);
    add(model.quantisation);
    if (model.files > 1) add(fmt::format("{} files", model.files));
    add(model.source + (model.source.empty() || model.group.empty() ? "" : ": ") + model.group);
    return text;
}

std::string warning_of(const LibraryModel& model, const MachineMemory& machine) {
    const std::string needed = bytes_text(model.needed_bytes);
    switch (memory_fit(model, machine.total, machine.available)) {
        case MemoryFit::fits_when_free:
            return fmt::format("It needs about {} of memory; {} are free now.", needed,
                               bytes_text(static_cast<int64_t>(machine.available)));
        case MemoryFit::too_large:
            return fmt::format(
                "It needs about {} of memory, and this machine has {}: it would read from the disk all "
                "the time.",
                needed, bytes_text(static_cast<int64_t>(machine.total)));
        case MemoryFit::fits:
        case MemoryFit::unknown: return "";
    }
    return "";
}

ModelFileItem item_of(const LibraryModel& model, const MachineMemory& machine) {
    ModelFileItem item;
    item.path = model.path;
    item.name = printable_line(model.name);
    item.details = details_of(model);
    item.bytes = model.bytes;
    item.problem = printable_line(model.problem);
    if (model.verdict != ModelVerdict::usable) return item;
    item.warning = warning_of(model, machine);
    for (const std::string& note : model.notes) item.notes.push_back(printable_line(note));
    return item;
}

}  // namespace

ModelFinder::ModelFinder(const Services& services, std::function<void()> changed, OtherPlaces other_places)
    : services_(services), changed_(std::move(changed)), other_places_(std::move(other_places)) {}

ModelFinder::~ModelFinder() {
    if (job_) job_->cancel();
}

void ModelFinder::remember(const Settings& settings) {
    folders_ = settings.texts("model_folders").value_or(std::vector<std::string>{});
    recent_ = settings.texts("recent_models").value_or(std::vector<std::string>{});
    if (recent_.size() > kRecentModels) recent_.resize(kRecentModels);
    search();
}

void ModelFinder::save_to(Settings& settings) const {
    settings.set_texts("model_folders", folders_);
    settings.set_texts("recent_models", recent_);
}

void ModelFinder::add_folder(const std::string& folder) {
    if (std::find(folders_.begin(), folders_.end(), folder) == folders_.end()) folders_.push_back(folder);
    search();
}

void ModelFinder::remove_folder(const std::string& folder) {
    std::erase(folders_, folder);
    search();
}

ModelFinder::Found ModelFinder::find(const std::vector<std::string>& folders, const OtherPlaces& other_places,
                                     const std::vector<std::string>& recent, const Job& job) {
    std::vector<ModelPlace> places;
    for (const std::string& folder : folders) places.push_back(place_of_folder(folder));
    if (other_places)
        for (ModelPlace& place : other_places()) places.push_back(std::move(place));
    Found found{read_library(places, {}, job), {}};
    for (const std::string& path : recent) {
        const bool listed = std::any_of(found.library.models.begin(), found.library.models.end(),
                                        [&](const LibraryModel& model) { return model.path == path; });
        if (!listed && !job.cancelled()) found.elsewhere.push_back(describe_model(path));
    }
    return found;
}

void ModelFinder::search() {
    if (job_) job_->cancel();
    job_ = std::make_shared<Job>();
    thread_.post([this, inbox = services_.inbox, job = job_, folders = folders_, recent = recent_] {
        if (job->cancelled()) return;
        auto found = std::make_shared<Found>(find(folders, other_places_, recent, *job));
        inbox->post([this, job, found] {
            if (job == job_) take(std::move(*found));
        });
    });
    changed_();
}

void ModelFinder::take(Found found) {
    job_.reset();
    found_ = std::move(found);
    list();
    changed_();
}

void ModelFinder::used(const std::string& path) {
    if (path.empty()) return;
    std::erase(recent_, path);
    recent_.insert(recent_.begin(), path);
    if (recent_.size() > kRecentModels) recent_.resize(kRecentModels);
    const auto is_it = [&](const LibraryModel& model) { return model.path == path; };
    const std::vector<LibraryModel>& models = found_.library.models;
    if (std::none_of(models.begin(), models.end(), is_it) &&
        std::none_of(found_.elsewhere.begin(), found_.elsewhere.end(), is_it))
        return search();
    list();
}

void ModelFinder::list() {
    const MachineMemory machine = services_.engine.machine_memory();
    auto list = std::make_shared<ModelList>();
    const auto add = [&](const LibraryModel& model) {
        (model.verdict == ModelVerdict::usable ? list->items : list->refused).push_back(item_of(model, machine));
    };
    for (const LibraryModel& model : found_.elsewhere) add(model);
    for (const LibraryModel& model : found_.library.models) add(model);
    const auto rank = [&](const ModelFileItem& item) {
        return std::find(recent_.begin(), recent_.end(), item.path) - recent_.begin();
    };
    std::stable_sort(list->items.begin(), list->items.end(),
                     [&](const ModelFileItem& a, const ModelFileItem& b) { return rank(a) < rank(b); });
    list_ = std::move(list);
}

void ModelFinder::fill(ModelState& state) const {
    state.list = list_;
    state.searching = job_ != nullptr;
    state.folders.clear();
    for (const std::string& folder : folders_) state.folders.push_back({folder, "", 0, ""});
    for (const LibraryPlace& place : found_.library.places) {
        const std::string path = place.place.folder.string();
        const auto own = std::find_if(state.folders.begin(), state.folders.end(),
                                      [&](const ModelState::Folder& folder) { return folder.path == path; });
        if (own != state.folders.end()) {
            own->models = place.models;
            own->error = place.error;
        } else if (place.place.source != path) {  // not a folder that the person has just removed
            state.folders.push_back({path, place.place.source, place.models, place.error});
        }
    }
}

}  // namespace octavo
