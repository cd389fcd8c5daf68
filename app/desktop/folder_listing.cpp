#include "app/desktop/folder_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "app/printable_text.h"
#include "app/size_text.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostItems = 2000;

// Empty: any file will do.
std::vector<std::string_view> extensions_for(FilePurpose purpose) {
    switch (purpose) {
        case FilePurpose::open_model: return {".gguf", ".safetensors"};
        case FilePurpose::import_conversations: return {".json"};
        case FilePurpose::add_model_folder: return {".gguf", ".safetensors"};
        case FilePurpose::none:
        case FilePurpose::attach_text:
        case FilePurpose::export_conversation:
        case FilePurpose::export_recall: return {};
    }
    return {};
}

bool reads_a_file(FilePurpose purpose) {
    return purpose == FilePurpose::open_model || purpose == FilePurpose::attach_text ||
           purpose == FilePurpose::import_conversations;
}

bool is_wanted(const fs::path& path, const std::vector<std::string_view>& extensions) {
    if (extensions.empty()) return true;
    const std::string extension = path.extension().string();
    return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

bool folders_first_by_name(const FileItem& a, const FileItem& b) {
    return a.folder != b.folder ? a.folder : a.name < b.name;
}

// Calls visit(entry) until it says false; the error of a folder that cannot be read, as a sentence.
template <class Visit>
std::string visit_folder(const fs::path& folder, Visit visit) {
    std::error_code error;
    fs::directory_iterator it(folder, error);
    if (error) return fmt::format("{} could not be read: {}.", printable_line(folder.string()), error.message());
    for (const fs::directory_iterator end; it != end; it.increment(error)) {
        if (error) return fmt::format("{} could not be read to its end: {}.", folder.string(), error.message());
        if (!it->path().filename().string().starts_with('.') && !visit(*it)) break;
    }
    return "";
}

}  // namespace

FolderListing list_folder(const std::string& folder, FilePurpose purpose) {
    std::error_code error;
    FolderListing listing;
    fs::path path = fs::absolute(folder, error).lexically_normal();
    if (fs::is_regular_file(path, error)) {
        if (reads_a_file(purpose)) {
            listing.file = path.string();
            return listing;
        }
        path = path.parent_path();
    }
    listing.folder = path.string();
    const std::vector<std::string_view> extensions = extensions_for(purpose);
    bool cut = false;
    listing.error = visit_folder(path, [&](const fs::directory_entry& entry) {
        std::error_code ignored;
        const bool is_folder = entry.is_directory(ignored);
        const bool is_file = entry.is_regular_file(ignored);
        if (!is_folder && !(is_file && is_wanted(entry.path(), extensions))) return true;
        if (listing.items.size() == kMostItems) {
            cut = true;
            return false;
        }
        const uintmax_t bytes = is_file ? entry.file_size(ignored) : 0;
        listing.items.push_back(
            {entry.path().filename().string(), is_folder, ignored ? 0 : static_cast<int64_t>(bytes)});
        return true;
    });
    if (cut) listing.error = fmt::format("Only {} items are shown: type the path instead.", group_digits(kMostItems));
    std::sort(listing.items.begin(), listing.items.end(), folders_first_by_name);
    return listing;
}

}  // namespace octavo
