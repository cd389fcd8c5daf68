// The file browser: a box over the window with a path to type, places, and what is in a folder.
//
// Threads: the window's.
#pragma once

#include <string>

#include "ui/actions.h"
#include "ui/state/file_browser_state.h"
#include "ui/ui.h"

namespace octavo {

struct FileBrowserInput {
    std::string path;    // as typed
    std::string folder;  // that `path` began with
    std::string chosen;  // name of the item that is marked; or the name to write under
    FilePurpose purpose = FilePurpose::none;
};

// Draws nothing while its purpose is none.
void draw_file_browser(Ui& ui, const FileBrowserState& state, FileBrowserInput& input, Actions& actions);

}  // namespace octavo
