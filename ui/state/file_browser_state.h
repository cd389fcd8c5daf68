// A folder to pick a file from, or a name to write one under.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

enum class FilePurpose {
    none,
    open_model,
    add_model_folder,
    attach_text,
    import_conversations,
    export_conversation,
    export_recall
};

struct FileItem {
    std::string name = {};
    bool folder = false;
    int64_t bytes = 0;
};

struct FileBrowserState {
    FilePurpose purpose = FilePurpose::none;  // none: closed
    std::string title = {};
    std::string folder = {};
    std::vector<std::string> places = {};  // folders worth a click: home, recent ones
    std::vector<FileItem> items = {};      // folders first
    std::string file_name = {};            // proposed, when something is written
    bool loading = false;
    std::string error = {};
};

}  // namespace octavo
