#include "app/desktop/transfer_controller.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "app/store/transfer.h"
#include "app/text_file.h"

namespace octavo {
namespace {

constexpr size_t kLongestName = 60;

Status write_new_file(const std::string& path, const std::string& text) {
    std::error_code error;
    if (std::filesystem::exists(path, error))
        return Error{ErrorKind::usage, fmt::format("{} exists already: choose another name.", path)};
    return write_text_file(path, text);
}

}  // namespace

std::string file_name_of(const std::string& title, const std::string& extension) {
    std::string name;
    for (const char c : title) {
        const bool plain =
            static_cast<unsigned char>(c) >= 0x20 && std::string_view("/\\:*?\"<>|").find(c) == std::string_view::npos;
        name += plain ? c : '-';
    }
    if (name.size() > kLongestName) {
        name.resize(kLongestName);
        while (!name.empty() && find_invalid_utf8(name) != std::string::npos) name.pop_back();
    }
    while (!name.empty() && (name.back() == ' ' || name.back() == '.')) name.pop_back();
    if (name.empty() || name.front() == '.') name = "conversation" + name;
    return name + extension;
}

TransferController::TransferController(Services services, std::function<void(int64_t)> imported)
    : services_(std::move(services)), imported_(std::move(imported)) {}

std::string TransferController::begin_export(const action::ExportConversation& wanted, const std::string& title) {
    wanted_ = wanted;
    return file_name_of(title, wanted.format == action::ExportFormat::json ? ".json" : ".md");
}

void TransferController::export_to(const std::string& path) {
    services_.ask_store([id = wanted_.id](Store& store) { return store.conversation(id); },
                        [this, path, format = wanted_.format](Result<StoredConversation> conversation) {
                            if (!conversation)
                                return services_.notices.add(NoticeKind::error, conversation.error().message,
                                                             "transfer");
                            write(path, format == action::ExportFormat::json ? conversations_to_json({*conversation})
                                                                             : conversation_to_markdown(*conversation));
                        });
}

void TransferController::write(const std::string& path, std::string text) {
    services_.ask_files([path, text = std::move(text)] { return write_new_file(path, text); },
                        [this, path](const Status& status) {
                            if (status)
                                services_.notices.add(NoticeKind::success, fmt::format("Saved as {}.", path),
                                                      "transfer");
                            else
                                services_.notices.add(NoticeKind::error, status.error().message, "transfer");
                        });
}

void TransferController::import_from(const std::string& path) {
    services_.ask_files(
        [path]() -> Result<std::vector<StoredConversation>> {
            const Result<std::string> text = read_text_file(path, kMaxImportBytes);
            if (!text) return text.error();
            return conversations_from_json(*text);
        },
        [this](Result<std::vector<StoredConversation>> conversations) {
            if (!conversations)
                return services_.notices.add(NoticeKind::error, conversations.error().message, "transfer");
            const size_t count = conversations->size();
            services_.ask_store(
                [all = std::move(*conversations)](Store& store) -> Result<int64_t> {
                    int64_t last = 0;
                    for (const StoredConversation& conversation : all) {
                        const Result<int64_t> added = store.add_conversation(conversation);
                        if (!added) return added.error();
                        last = *added;
                    }
                    return last;
                },
                [this, count](Result<int64_t> last) {
                    if (!last) return services_.notices.add(NoticeKind::error, last.error().message, "transfer");
                    services_.notices.add(NoticeKind::success,
                                          count == 1 ? "One conversation was imported."
                                                     : fmt::format("{} conversations were imported.", count),
                                          "transfer");
                    imported_(*last);
                });
        });
}

}  // namespace octavo
