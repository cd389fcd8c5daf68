// The file browser: a folder to look through, for one purpose at a time.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/desktop/folder_listing.h"
#include "app/desktop/services.h"
#include "app/store/settings.h"

namespace octavo {

class FileController {
  public:
    // `taken(purpose, path)`: a path was typed that names a file.
    FileController(Services services, std::function<void()> changed,
                   std::function<void(FilePurpose, std::string)> taken);

    void remember(const Settings& settings);
    // `file_name`: proposed, when something is written.
    void open(FilePurpose purpose, const std::string& file_name = "");
    void open_folder(const std::string& folder);  // or take the file, if it is one
    void close();
    // The person has chosen: closes the browser and remembers the folder.
    void chose(const std::string& path);

    FilePurpose purpose() const { return state_.purpose; }
    void fill(FileBrowserState& state) const { state = state_; }

  private:
    void remember_folder(const std::string& folder);

    Services services_;
    std::function<void()> changed_;
    std::function<void(FilePurpose, std::string)> taken_;
    FileBrowserState state_;
    std::vector<std::string> recent_folders_;
    uint64_t asked_ = 0;
};

}  // namespace octavo
