// The open conversation: its messages as a tree, the composer, and the reply that is being written.
//
// What is promised: a message is in the store before the engine sees it; a reply is saved while it comes; what cannot
// be sent goes back to the composer with the reason. A reply goes on when another conversation is opened meanwhile.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/desktop/composer.h"
#include "app/desktop/conversation_settings.h"
#include "app/desktop/running_reply.h"
#include "app/desktop/services.h"
#include "ui/view_state.h"

namespace octavo {

class ChatController {
  public:
    // `changed`: the conversation, the list of them or their settings did.
    ChatController(Services services, std::function<void()> changed);

    // What a conversation begins with. Settings of an empty, new one follow.
    void set_defaults(const ConversationSettings& defaults);
    void set_model(std::shared_ptr<const Model> model);

    void open_new();
    void open(int64_t id);
    int64_t conversation() const { return stored_.summary.id; }  // 0: a new one that is not stored yet
    const ConversationSettings& settings() const { return settings_; }
    void set_cache(const CacheWish& cache);
    void set_sampling(const SamplingChoice& sampling);
    void rename(const std::string& title) { stored_.summary.title = title; }
    // The engine's name for a conversation.
    static std::string session_of(int64_t conversation) { return "c" + std::to_string(conversation); }
    std::string session() const { return session_of(conversation()); }
    // Tokens of what the engine would read again for the next message, as far as replies said.
    int64_t held_tokens() const;
    // Of what the engine has read and written by now of the reply that runs here; 0 where none does.
    int64_t running_tokens() const;
    bool empty() const { return stored_.messages.empty(); }

    void change_draft(std::string text) { composer_.change_text(std::move(text)); }
    void attach_file(const std::string& path);
    void attach_text(Attachment attachment) { composer_.attach(std::move(attachment)); }
    bool has_attachment(const std::string& name) const { return composer_.has_attachment(name); }
    void detach(int index) { composer_.detach(index); }
    void send(std::string text);
    void cancel_edit();

    void retry(int64_t message);
    // A stopped reply goes on, as another branch beside it.
    void continue_reply(int64_t message);
    void edit(int64_t message);
    void remove(int64_t message);
    void show_sibling(int64_t message, int sibling);
    // Leaves out the oldest turns until `tokens` are free beside what is held.
    void drop_oldest(int64_t tokens);
    void stop();

    // A message is on its way, or a reply is being written.
    bool busy() const { return outgoing_ || starting_ || running_; }
    const RunningReply* running() const { return running_.get(); }
    const StoredConversation& stored() const { return stored_; }

    void on(const ReplyProgressed& event);
    void on(const ReplyStreamed& event);
    void on(const ReplyEnded& event);

    // Of the last reply that was refused or cut for lack of context: tokens that the prompt has. Taken once.
    std::optional<int64_t> take_overflow() { return std::exchange(overflow_, std::nullopt); }

    void fill(ViewState& state);

  private:
    struct Outgoing {
        Draft draft;
        int64_t editing = 0;
        std::optional<int64_t> tokens;
    };
    void take_over(StoredConversation conversation, Draft draft);
    void composer_changed();
    void watch_room();
    void count_system_prompt();
    int64_t longest_context() const;
    void save_draft();
    void save_settings();
    void count_outgoing();
    void send_outgoing();
    void give_back(const std::string& reason);
    std::string refusal_of(int64_t tokens) const;  // empty: there is room
    void commit();
    void start_reply(int64_t parent, ReplyPart begun = {});
    ReplyRequest make_request(int64_t parent) const;
    std::vector<Message> prompt_up_to(int64_t last) const;
    int64_t tip() const;
    void forget_views() { views_.clear(); }

    // chat_view.cpp
    std::shared_ptr<const MessageView> make_view(const StoredMessage& message, bool in_context,
                                                 const std::vector<int64_t>& siblings);
    void fill_transcript(TranscriptState& state);
    void fill_composer(ComposerState& state) const;

    std::string model_name() const { return model_ ? model_->name : std::string(); }

    Services services_;
    std::function<void()> changed_;
    std::shared_ptr<const Model> model_;
    ConversationSettings defaults_;

    StoredConversation stored_;
    ConversationSettings settings_;
    bool loading_ = false;
    std::string open_error_;
    uint64_t opened_ = 0;  // counts openings: answers about former ones are dropped

    Composer composer_;
    Draft saved_draft_;  // of the new message, while another one is edited too
    std::optional<Outgoing> outgoing_;
    bool committing_ = false;
    bool starting_ = false;

    std::unique_ptr<RunningReply> running_;
    std::optional<std::pair<int64_t, FinishedReply>>
        last_finished_;  // a conversation may be read before it was written
    std::optional<int64_t> overflow_;
    int64_t offered_ = 0;  // tokens for which room was offered while they were typed; 0: there is room
    int64_t system_prompt_tokens_ = -1;

    uint64_t last_revision_ = 0;
    std::map<int64_t, std::shared_ptr<const MessageView>> views_;  // of messages that did not change
};

}  // namespace octavo
