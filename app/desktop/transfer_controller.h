// Conversations out of the program and into it, as files that a person chooses.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <string>

#include "app/desktop/services.h"
#include "ui/actions.h"

namespace octavo {

class TransferController {
  public:
    // `imported`: there are new conversations, the last of them this one.
    TransferController(Services services, std::function<void(int64_t)> imported);

    // What the next export writes, and the name to propose.
    std::string begin_export(const action::ExportConversation& wanted, const std::string& title);
    void export_to(const std::string& path);
    void import_from(const std::string& path);
    // Writes a text that is ready; never over another file.
    void write(const std::string& path, std::string text);

  private:
    Services services_;
    std::function<void(int64_t)> imported_;
    action::ExportConversation wanted_;
};

// A title as the name of a file: no separators, not long.
std::string file_name_of(const std::string& title, const std::string& extension);

}  // namespace octavo
