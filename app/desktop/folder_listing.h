// What is in a folder, for the file browser and the list of models.
//
// Threads: they wait for the disk; not on the interface's thread.
#pragma once

#include <string>
#include <vector>

#include "ui/state/file_browser_state.h"
#include "ui/state/model_state.h"

namespace octavo {

struct FolderListing {
    std::string folder;           // absolute
    std::vector<FileItem> items;  // folders first, then what `purpose` can use, each by name
    std::string error;            // a sentence; `items` has what could be read
};

// Hidden files are left out. At most 2,000 items.
FolderListing list_folder(const std::string& folder, FilePurpose purpose);

// Every GGUF file of a folder and its folders' safetensors, each with the reason why it cannot be used, if there is
// one.
ModelState::Folder scan_model_folder(const std::string& folder);

// One model file or folder: its name, size and what is unsupported.
ModelFileItem describe_model_file(const std::string& path);

}  // namespace octavo
