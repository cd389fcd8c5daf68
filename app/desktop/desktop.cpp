#include "app/desktop/desktop.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "app/desktop/cache_controller.h"
#include "app/desktop/chat_controller.h"
#include "app/desktop/example_document.h"
#include "app/desktop/file_controller.h"
#include "app/desktop/layout_settings.h"
#include "app/desktop/list_controller.h"
#include "app/desktop/model_controller.h"
#include "app/desktop/open_link_platform.h"
#include "app/desktop/recall_controller.h"
#include "app/desktop/sampling_presets.h"
#include "app/desktop/transfer_controller.h"
#include "app/recommended_sampling.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

bool is_model_path(const std::string& path) {
    std::error_code error;
    const fs::path extension = fs::path(path).extension();
    return extension == ".gguf" || extension == ".safetensors" || fs::exists(fs::path(path) / "config.json", error);
}

class Desktop : public WindowClient {
  public:
    explicit Desktop(DesktopOptions options)
        : options_(std::move(options)),
          inbox_(std::make_shared<Inbox>(options_.wake)),
          engine_(options_.make_engine(options_.wake)),
          counts_(*engine_),
          services_{*engine_, *options_.store, counts_, files_, inbox_, notices_, options_.now_ms},
          model_(services_, dirty(), options_.other_places),
          chat_(services_, dirty()),
          cache_(services_, chat_, model_, dirty()),
          recall_(services_, chat_, model_, dirty()),
          list_(services_, dirty()),
          browser_(services_, dirty(),
                   [this](FilePurpose purpose, std::string path) {
                       on(action::ChooseFile{purpose, std::move(path)});
                   }),
          transfer_(services_, [this](int64_t last) {
              list_.refresh();
              if (last > 0) chat_.open(last);
          }) {
        model_.remember(options_.settings);
        cache_.remember(options_.settings);
        browser_.remember(options_.settings);
        layout_ = layout_of(options_.settings);
        welcome_dismissed_ = options_.settings.flag("welcome_dismissed").value_or(false);
        services_.ask_store([](Store& store) -> Result<std::vector<std::string>> { return store.notices(); },
                            [this](Result<std::vector<std::string>> notices) {
                                if (!notices) return notices_.add(NoticeKind::error, notices.error().message, "store");
                                for (const std::string& notice : *notices) notices_.add(NoticeKind::warning, notice);
                                is_dirty_ = true;
                            });
        list_.refresh();
        if (const int64_t last = options_.settings.integer("last_conversation").value_or(0); last > 0)
            chat_.open(last);
        else
            chat_.open_new();
        listed_ = {chat_.conversation(), 0};
        model_.load(options_.model.empty() ? model_.last_path() : options_.model);
    }

    ~Desktop() override { inbox_->close(); }

    std::shared_ptr<const ViewState> state() override {
        inbox_->deliver();
        for (const EngineEvent& event : engine_->take_events())
            std::visit([this](const auto& each) { on(each); }, event);
        for (const Error& error : options_.store->take_errors()) {
            notices_.add(NoticeKind::error, error.message, "store");
            is_dirty_ = true;
        }
        if (const std::optional<int64_t> tokens = chat_.take_overflow()) cache_.offer_room(*tokens);
        follow_conversation();
        if (is_dirty_ || !drawn_ || notices_.revision() != drawn_notices_) {
            drawn_notices_ = notices_.revision();
            is_dirty_ = false;
            drawn_ = make_state();
        }
        return drawn_;
    }

    void handle(Action action) override {
        is_dirty_ = true;
        std::visit([this](auto& each) { on(std::move(each)); }, action);
    }

  private:
    std::function<void()> dirty() {
        return [this] { is_dirty_ = true; };
    }

    // Events of the engine.
    void on(const ModelLoading& event) { model_.on(event); }
    void on(const ModelFailed& event) {
        model_.on(event);
        if (!model_.loaded()) chat_.set_model(nullptr);
    }
    void on(const ModelLoaded& event) {
        model_.on(event);
        cache_.forget_measured();
        chat_.set_model(event.model);
        ConversationSettings defaults;
        defaults.cache = cache_.fitting(event.info.kv);
        defaults.sampling.sampler = recommended_sampling(*event.model);
        chat_.set_defaults(defaults);
    }
    void on(const ReplyProgressed& event) { chat_.on(event); }
    void on(const ReplyStreamed& event) { chat_.on(event); }
    void on(const ReplyEnded& event) { chat_.on(event); }
    void on(const CacheMeasured& event) { cache_.on(event); }
    void on(const CacheProgressed& event) { cache_.on(event); }
    void on(const CacheChanged& event) { cache_.on(event); }
    void on(const RebuildProgressed& event) { cache_.on(event); }
    void on(const RebuildEnded& event) { cache_.on(event); }
    void on(const TextCounted& event) { counts_.on(event); }
    void on(const RecallProgressed& event) { recall_.on(event); }
    void on(const RecallEnded& event) { recall_.on(event); }

    // Conversations.
    void on(action::NewConversation) { chat_.open_new(); }
    void on(const action::OpenConversation& wanted) { chat_.open(wanted.id); }
    void on(const action::SearchConversations& wanted) { list_.search(wanted.query); }
    void on(const action::RenameConversation& wanted) {
        list_.rename(wanted.id, wanted.title);
        if (wanted.id == chat_.conversation()) chat_.rename(wanted.title);
    }
    void on(const action::DeleteConversation& wanted) {
        if (wanted.id == chat_.conversation()) {
            chat_.stop();
            chat_.open_new();
        }
        engine_->close(ChatController::session_of(wanted.id));
        list_.remove(wanted.id);
    }
    void on(const action::RestoreConversation& wanted) {
        list_.restore(wanted.id);
        chat_.open(wanted.id);
    }
    void on(const action::ExportConversation& wanted) {
        browser_.open(FilePurpose::export_conversation, transfer_.begin_export(wanted, list_.title_of(wanted.id)));
    }
    void on(action::ImportConversations) { browser_.open(FilePurpose::import_conversations); }

    // The composer.
    void on(action::DraftChanged&& wanted) { chat_.change_draft(std::move(wanted.text)); }
    void on(action::SendMessage&& wanted) { chat_.send(std::move(wanted.text)); }
    void on(action::CancelEdit) { chat_.cancel_edit(); }
    void on(const action::AttachFile& wanted) {
        if (wanted.path.empty())
            browser_.open(FilePurpose::attach_text);
        else
            chat_.attach_file(wanted.path);
    }
    void on(action::AttachText&& wanted) { chat_.attach_text({std::move(wanted.name), std::move(wanted.text)}); }
    void on(const action::DetachFile& wanted) { chat_.detach(wanted.index); }
    void on(const action::DropFiles& wanted) {
        for (const std::string& path : wanted.paths) is_model_path(path) ? model_.load(path) : chat_.attach_file(path);
    }
    void on(action::Stop) {
        chat_.stop();
        if (cache_.busy()) engine_->stop();
        if (model_.loading()) model_.cancel();
    }

    // Messages.
    void on(const action::RetryReply& wanted) { chat_.retry(wanted.message); }
    void on(const action::EditMessage& wanted) { chat_.edit(wanted.message); }
    void on(const action::DeleteMessage& wanted) { chat_.remove(wanted.message); }
    void on(const action::ShowSibling& wanted) { chat_.show_sibling(wanted.message, wanted.sibling); }
    void on(const action::ContinueReply& wanted) { chat_.continue_reply(wanted.message); }
    void on(const action::DropOldestTurns& wanted) {
        chat_.drop_oldest(wanted.tokens);
        notices_.drop("room");
    }

    // Models.
    void on(const action::LoadModel& wanted) { model_.load(wanted.path); }
    void on(action::CancelLoad) { model_.cancel(); }
    void on(action::PickModel) { browser_.open(FilePurpose::open_model); }
    void on(action::PickModelFolder) { browser_.open(FilePurpose::add_model_folder); }
    void on(const action::RemoveModelFolder& wanted) { model_.remove_folder(wanted.path); }
    void on(action::RescanModelFolders) { model_.rescan(); }
    void on(const action::SetDevice& wanted) { model_.set_device(wanted.id); }
    void on(const action::SetGpuBudget& wanted) { model_.set_gpu_budget(wanted.bytes); }
    void on(action::ApplyGpuBudget) { model_.apply_gpu_budget(); }

    // The KV cache.
    void on(const action::PriceKv& wanted) { cache_.price(wanted.choice); }
    void on(const action::ApplyKv& wanted) {
        notices_.drop("room");
        cache_.apply(wanted.choice);
    }
    void on(action::DiscardKv) { cache_.discard(); }
    void on(action::RebuildKv) { cache_.rebuild(); }
    void on(const action::SetHeadroom& wanted) { cache_.set_headroom(wanted.bytes); }

    // Recall.
    void on(const action::StartRecall& wanted) { recall_.start(wanted); }
    void on(action::StopRecall) { recall_.stop(); }
    void on(const action::OpenRecallRun& wanted) { recall_.open(wanted.id); }
    void on(const action::DeleteRecallRun& wanted) { recall_.remove(wanted.id); }
    void on(const action::ExportRecallRun& wanted) {
        browser_.open(FilePurpose::export_recall, recall_.begin_export(wanted));
    }

    void on(const action::SetSampling& wanted) { chat_.set_sampling(wanted.choice); }

    // Files.
    void on(const action::OpenFolder& wanted) { browser_.open_folder(wanted.folder); }
    void on(const action::ChooseFile& wanted) {
        browser_.chose(wanted.path);
        switch (wanted.purpose) {
            case FilePurpose::open_model: return model_.load(wanted.path);
            case FilePurpose::add_model_folder: return model_.add_folder(wanted.path);
            case FilePurpose::attach_text: return chat_.attach_file(wanted.path);
            case FilePurpose::import_conversations: return transfer_.import_from(wanted.path);
            case FilePurpose::export_conversation: return transfer_.export_to(wanted.path);
            case FilePurpose::export_recall:
                return recall_.export_text(
                    [this, path = wanted.path](std::string text) { transfer_.write(path, std::move(text)); });
            case FilePurpose::none: return;
        }
    }
    void on(action::CloseFileBrowser) { browser_.close(); }

    // The rest.
    void on(action::UseExample) {
        if (!chat_.has_attachment(example_document_name()))
            chat_.attach_text({example_document_name(), example_document()});
    }
    void on(action::DismissWelcome) {
        welcome_dismissed_ = true;
        Settings settings;
        settings.set_flag("welcome_dismissed", true);
        save(settings);
    }
    void on(const action::DismissNotice& wanted) { notices_.dismiss(wanted.id); }
    void on(const action::OpenLink& wanted) {
        services_.ask_files([address = wanted.address] { return open_link(address); },
                            [this](const Status& status) {
                                if (!status) notices_.add(NoticeKind::warning, status.error().message, "link");
                            });
    }
    void on(const action::SetLayout& wanted) {
        if (wanted.layout == layout_) return;
        layout_ = wanted.layout;
        save_layout();
    }
    void on(action::Quit) {}  // the window closes itself

    void save(const Settings& settings) {
        options_.store->post([settings](Store& store) { return store.save_settings(settings); });
    }
    // One at a time: a border that is dragged would fill the disk's queue.
    void save_layout() {
        if (saving_layout_) return;
        saving_layout_ = true;
        services_.ask_store([layout = layout_](Store& store) { return store.save_settings(to_stored(layout)); },
                            [this, saved = layout_](const Status&) {
                                saving_layout_ = false;
                                if (!(saved == layout_)) save_layout();
                            });
    }

    // The list shows what has become of the conversation, and the next start opens it again.
    void follow_conversation() {
        const std::pair<int64_t, size_t> now{chat_.conversation(), chat_.stored().messages.size()};
        if (now == listed_) return;
        if (now.first != listed_.first) {
            Settings settings;
            settings.set_integer("last_conversation", now.first);
            save(settings);
        }
        listed_ = now;
        list_.refresh();
        is_dirty_ = true;
    }

    std::shared_ptr<const ViewState> make_state() {
        auto state = std::make_shared<ViewState>();
        model_.fill(state->engine);
        if (chat_.running() != nullptr) chat_.running()->fill(state->engine);
        cache_.fill(state->engine);
        recall_.fill(state->engine);
        list_.fill(state->conversations, chat_.conversation(),
                   chat_.running() != nullptr ? chat_.running()->conversation() : 0);
        chat_.fill(*state);
        if (state->transcript.title.empty()) state->transcript.title = list_.title_of(chat_.conversation());
        model_.fill(state->model);
        cache_.fill(state->kv);
        model_.fill(state->kv.gpu_budget);
        recall_.fill(state->recall);
        browser_.fill(state->file_browser);
        if (model_.loaded()) {
            const Model& model = *model_.loaded()->model;
            state->sampling.can_think = model.chat && model.chat->dialect().can_switch_thinking();
            state->sampling.presets = sampling_presets(model);
        }
        fill(state->welcome);
        state->notices = notices_.list();
        return state;
    }

    void fill(WelcomeState& welcome) const {
        welcome.shown = chat_.empty() && !chat_.busy() && !welcome_dismissed_;
        if (!welcome.shown) return;
        if (!model_.loaded() && !model_.loading())
            welcome.model =
                "No model is loaded: choose one in the Model tab. Pocket, a small one, is inside this program.";
        else if (!model_.path().empty())
            welcome.model = "Ask anything, or attach a document: it is read whole.";
        else
            welcome.model =
                "Pocket, a small model inside this program, is ready. It finds facts in a text and "
                "remembers what it is told; it is no general assistant. For more, open a GGUF file of "
                "the Qwen3-Next or Qwen3.5 family: drop it on this window, or choose it in the Model tab.";
        welcome.machine = model_.machine_text() + " " + cache_.contexts_text();
        welcome.example_name = example_document_name();
        welcome.suggestions = example_questions();
    }

    DesktopOptions options_;
    std::shared_ptr<Inbox> inbox_;
    Notices notices_;
    std::unique_ptr<EnginePort> engine_;
    TokenCounts counts_;
    TaskThread files_;
    Services services_;
    ModelController model_;
    ChatController chat_;
    CacheController cache_;
    RecallController recall_;
    ListController list_;
    FileController browser_;
    TransferController transfer_;
    WindowLayout layout_;
    bool saving_layout_ = false;
    bool welcome_dismissed_ = false;
    std::pair<int64_t, size_t> listed_;  // conversation and its messages, as the list was read
    bool is_dirty_ = true;
    uint64_t drawn_notices_ = 0;
    std::shared_ptr<const ViewState> drawn_;
};

}  // namespace

std::unique_ptr<WindowClient> make_desktop(DesktopOptions options) {
    return std::make_unique<Desktop>(std::move(options));
}

}  // namespace octavo
