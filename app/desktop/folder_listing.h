// What is in a folder, for the file browser.
//
// Threads: they wait for the disk; not on the interface's thread.
#pragma once

#include <string>
#include <vector>

#include "ui/state/file_browser_state.h"

namespace octavo {

struct FolderListing {
    std::string folder;           // absolute
    std::vector<FileItem> items;  // folders first, then what `purpose` can use, each by name
    std::string error;            // a sentence; `items` has what could be read
    std::string file;             // absolute; the path was of a file that the purpose reads, and nothing was listed
};

// Hidden files are left out. At most 2,000 items. The path of a file (typed or pasted) stands for its folder where the
// purpose reads no file.
FolderListing list_folder(const std::string& folder, FilePurpose purpose);

}  // namespace octavo
