// Everything a person can ask for in the window. Drawing returns these; whoever owns the engine and the store carries
// them out, and the next state shows what came of it.
//
// Threads: values; handed over on the window's thread.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ui/layout.h"
#include "ui/state/file_browser_state.h"
#include "ui/state/kv_state.h"
#include "ui/state/sampling_state.h"

namespace octavo {

namespace action {

// Conversations. Ids are ConversationItem::id.
struct NewConversation {};
struct OpenConversation {
    int64_t id = 0;
};
struct SearchConversations {
    std::string query;
};
struct RenameConversation {
    int64_t id = 0;
    std::string title;
};
struct DeleteConversation {
    int64_t id = 0;
};
struct RestoreConversation {
    int64_t id = 0;
};
enum class ExportFormat { json, markdown };
struct ExportConversation {
    int64_t id = 0;
    ExportFormat format = ExportFormat::json;
};
struct ImportConversations {};

// The composer. DraftChanged follows every change of the text, for its token count and to be kept.
struct DraftChanged {
    std::string text;
};
struct SendMessage {
    std::string text;
};
struct CancelEdit {};
struct AttachFile {
    std::string path;  // empty: let the person pick one
};
// A text that is too long to be typed: a paste.
struct AttachText {
    std::string name;
    std::string text;
};
struct DetachFile {
    int index = 0;
};
// on the window: texts are attached, a model is loaded
struct DropFiles {
    std::vector<std::string> paths;
};
struct Stop {};  // whatever the engine does now

// Messages of the open conversation; ids are MessageView::id.
struct RetryReply {
    int64_t message = 0;
};
// its text goes to the composer
struct EditMessage {
    int64_t message = 0;
};
struct DeleteMessage {
    int64_t message = 0;
};
struct ShowSibling {
    int64_t message = 0;
    int sibling = 1;
};
// it stopped at a limit
struct ContinueReply {
    int64_t message = 0;
};
// The context is full: the oldest turns are no longer read, until `tokens` are free beside the rest.
struct DropOldestTurns {
    int64_t tokens = 0;
};
// Models. An empty path is the bundled one.
struct LoadModel {
    std::string path;
};
struct CancelLoad {};
struct PickModel {};
struct PickModelFolder {};
struct RemoveModelFolder {
    std::string path;
};
struct RescanModelFolders {};
struct SetDevice {
    std::string id;
};
struct SetGpuBudget {
    int64_t bytes = 0;  // 0: what is free
};
struct ApplyGpuBudget {};  // load the model again within it
// The KV cache: what would a choice cost, and do it.
struct PriceKv {
    KvChoice choice;
};
struct ApplyKv {
    KvChoice choice;
};
struct DiscardKv {};
struct RebuildKv {};  // read everything again, so that every token is exact
struct SetHeadroom {
    int64_t bytes = 0;
};

struct StartRecall {
    std::vector<int64_t> lengths;
    int questions = 40;          // per length and setting
    bool with_reference = true;  // the same questions under the best format that fits, too
    bool window_sweep = false;   // windows of 0, 128, 512 and 1,024 instead of the present one
};
struct StopRecall {};
struct OpenRecallRun {
    int64_t id = 0;
};
struct DeleteRecallRun {
    int64_t id = 0;
};
enum class RecallExportFormat { json, csv };
struct ExportRecallRun {
    int64_t id = 0;
    RecallExportFormat format = RecallExportFormat::json;
};

struct SetSampling {
    SamplingChoice choice;
};

// in the file browser
struct OpenFolder {
    std::string folder;
};
struct ChooseFile {
    FilePurpose purpose = FilePurpose::none;
    std::string path;
};
struct CloseFileBrowser {};

struct UseExample {};  // the welcome page's document
struct DismissWelcome {};
struct DismissNotice {
    int64_t id = 0;
};
struct OpenLink {
    std::string address;
};
// to be remembered
struct SetLayout {
    WindowLayout layout;
};
struct Quit {};

}  // namespace action

using Action =
    std::variant<action::NewConversation, action::OpenConversation, action::SearchConversations,
                 action::RenameConversation, action::DeleteConversation, action::RestoreConversation,
                 action::ExportConversation, action::ImportConversations, action::DraftChanged, action::SendMessage,
                 action::CancelEdit, action::AttachFile, action::AttachText, action::DetachFile, action::DropFiles,
                 action::Stop, action::RetryReply, action::EditMessage, action::DeleteMessage, action::ShowSibling,
                 action::ContinueReply, action::DropOldestTurns, action::LoadModel, action::CancelLoad,
                 action::PickModel, action::PickModelFolder, action::RemoveModelFolder, action::RescanModelFolders,
                 action::SetDevice, action::SetGpuBudget, action::ApplyGpuBudget, action::PriceKv, action::ApplyKv,
                 action::DiscardKv, action::RebuildKv, action::SetHeadroom, action::StartRecall, action::StopRecall,
                 action::OpenRecallRun, action::DeleteRecallRun, action::ExportRecallRun, action::SetSampling,
                 action::OpenFolder, action::ChooseFile, action::CloseFileBrowser, action::UseExample,
                 action::DismissWelcome, action::DismissNotice, action::OpenLink, action::SetLayout, action::Quit>;

using Actions = std::vector<Action>;

}  // namespace octavo
