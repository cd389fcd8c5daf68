#include "app/desktop/file_controller.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRecentFolders = 5;

struct PurposeText {
    FilePurpose purpose;
    const char* title;
};
constexpr PurposeText kPurposes[] = {
    {FilePurpose::open_model, "Open a model: a GGUF file, or a folder with safetensors"},
    {FilePurpose::add_model_folder, "A folder in which to look for models"},
    {FilePurpose::attach_text, "Attach a text file, whole"},
    {FilePurpose::import_conversations, "Import conversations"},
    {FilePurpose::export_conversation, "Export the conversation"},
    {FilePurpose::export_recall, "Export the recall check"},
};

std::string home_folder() {
    const char* const home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') return home;
    std::error_code error;
    return fs::current_path(error).string();
}

}  // namespace

FileController::FileController(Services services, std::function<void()> changed,
                               std::function<void(FilePurpose, std::string)> taken)
    : services_(std::move(services)), changed_(std::move(changed)), taken_(std::move(taken)) {}

void FileController::remember(const Settings& settings) {
    recent_folders_ = settings.texts("recent_folders").value_or(std::vector<std::string>{});
}

void FileController::open(FilePurpose purpose, const std::string& file_name) {
    state_ = {};
    state_.purpose = purpose;
    for (const PurposeText& text : kPurposes)
        if (text.purpose == purpose) state_.title = text.title;
    state_.file_name = file_name;
    state_.places = recent_folders_;
    const std::string home = home_folder();
    if (std::find(state_.places.begin(), state_.places.end(), home) == state_.places.end())
        state_.places.push_back(home);
    state_.places.emplace_back("/");
    open_folder(recent_folders_.empty() ? home : recent_folders_.front());
}

void FileController::open_folder(const std::string& folder) {
    state_.loading = true;
    services_.ask_files([folder, purpose = state_.purpose] { return list_folder(folder, purpose); },
                        [this, asked = ++asked_](FolderListing listing) {
                            if (asked != asked_) return;
                            state_.loading = false;
                            if (!listing.file.empty()) return taken_(state_.purpose, std::move(listing.file));
                            state_.folder = std::move(listing.folder);
                            state_.items = std::move(listing.items);
                            state_.error = std::move(listing.error);
                            changed_();
                        });
    changed_();
}

void FileController::close() {
    ++asked_;
    state_ = {};
    changed_();
}

void FileController::chose(const std::string& path) {
    std::error_code error;
    remember_folder(fs::is_directory(path, error) ? path : fs::path(path).parent_path().string());
    close();
}

void FileController::remember_folder(const std::string& folder) {
    if (folder.empty()) return;
    std::erase(recent_folders_, folder);
    recent_folders_.insert(recent_folders_.begin(), folder);
    if (recent_folders_.size() > kRecentFolders) recent_folders_.resize(kRecentFolders);
    Settings settings;
    settings.set_texts("recent_folders", recent_folders_);
    services_.store.post([settings](Store& store) { return store.save_settings(settings); });
}

}  // namespace octavo
