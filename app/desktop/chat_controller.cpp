#include "app/desktop/chat_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/desktop/store_edits.h"
#include "app/size_text.h"
#include "app/store/message_tree.h"
#include "app/text_file.h"

namespace octavo {

ChatController::ChatController(Services services, std::function<void()> changed)
    : services_(std::move(services)),
      changed_(std::move(changed)),
      composer_(services_.counts, [this] { composer_changed(); }) {}

void ChatController::set_defaults(const ConversationSettings& defaults) {
    defaults_ = defaults;
    if (conversation() == 0 && !committing_) {
        // A choice that was made already stays, as far as this model can have it.
        const CacheWish chosen = settings_.cache;
        settings_ = defaults;
        if (chosen.context_length > 0 && chosen.context_length <= longest_context()) settings_.cache = chosen;
    }
    changed_();
}

void ChatController::set_model(std::shared_ptr<const Model> model) {
    model_ = std::move(model);
    composer_.count_again();
    count_system_prompt();
    changed_();
}

int64_t ChatController::longest_context() const { return model_ ? model_->config.context_length : 0; }

void ChatController::count_system_prompt() {
    system_prompt_tokens_ = -1;
    if (!model_ || settings_.sampling.system_prompt.empty()) return;
    services_.counts.count(settings_.sampling.system_prompt,
                           [this, text = settings_.sampling.system_prompt](const Result<int64_t>& tokens) {
                               if (tokens && text == settings_.sampling.system_prompt) system_prompt_tokens_ = *tokens;
                               changed_();
                           });
}

void ChatController::open_new() {
    ++opened_;
    loading_ = false;
    const CacheWish cache = settings_.cache;  // a choice for this machine more than for one conversation
    take_over({}, {});
    settings_ = defaults_;
    if (cache.context_length > 0) settings_.cache = cache;
    services_.ask_store([](Store& store) { return store.draft(0); },
                        [this, opened = opened_](Result<Draft> draft) {
                            if (opened == opened_ && draft && composer_.empty()) {
                                saved_draft_ = *draft;
                                composer_.show(*draft);
                            }
                        });
    changed_();
}

void ChatController::open(int64_t id) {
    if (id == conversation() && !loading_) return;
    loading_ = true;
    ++opened_;
    struct Opened {
        StoredConversation conversation;
        Draft draft;
    };
    services_.ask_store(
        [id](Store& store) -> Result<Opened> {
            Result<StoredConversation> conversation = store.conversation(id);
            if (!conversation) return conversation.error();
            const Result<Draft> draft = store.draft(id);
            return Opened{std::move(*conversation), draft ? *draft : Draft{}};
        },
        [this, opened = opened_](Result<Opened> result) {
            if (opened != opened_) return;
            loading_ = false;
            if (!result)
                services_.notices.add(NoticeKind::error, result.error().message, "open");
            else
                take_over(std::move(result->conversation), std::move(result->draft));
            changed_();
        });
    changed_();
}

void ChatController::take_over(StoredConversation conversation, Draft draft) {
    stored_ = std::move(conversation);
    settings_ = from_stored(stored_.settings, defaults_);
    if (last_finished_) {
        if (StoredMessage* message = find_message(stored_, last_finished_->first))
            apply_finished(*message, last_finished_->second);
    }
    open_error_.clear();
    for (const std::string& problem : stored_.problems) open_error_ += (open_error_.empty() ? "" : " ") + problem;
    forget_views();
    saved_draft_ = draft;
    composer_.show(std::move(draft));
    count_system_prompt();
}

void ChatController::set_cache(const CacheWish& cache) {
    settings_.cache = cache;
    save_settings();
}

void ChatController::set_sampling(const SamplingChoice& sampling) {
    settings_.sampling = sampling;
    count_system_prompt();
    save_settings();
}

void ChatController::save_settings() {
    changed_();
    if (conversation() == 0) return;  // stored with the first message
    stored_.settings = to_stored(settings_);
    services_.store.post([id = conversation(), settings = stored_.settings](Store& store) {
        return store.save_conversation_settings(id, settings);
    });
}

int64_t ChatController::tip() const {
    const std::vector<const StoredMessage*> shown = shown_messages(stored_);
    return shown.empty() ? 0 : shown.back()->id;
}

int64_t ChatController::held_tokens() const {
    const std::vector<const StoredMessage*> shown = shown_messages(stored_);
    for (auto message = shown.rbegin(); message != shown.rend(); ++message) {
        const ReplyFigures& figures = (*message)->figures;
        if ((*message)->role != Role::assistant || figures.prompt_tokens == 0) continue;
        const int64_t held = figures.prompt_tokens + figures.generated_tokens;
        return (*message)->id <= settings_.dropped_at ? std::max<int64_t>(held - settings_.dropped_tokens, 0) : held;
    }
    return 0;
}

int64_t ChatController::running_tokens() const {
    return running_ && running_->conversation() == conversation() ? running_->held_tokens() : 0;
}

// The composer.

void ChatController::composer_changed() {
    save_draft();
    watch_room();
    changed_();
}

// Says what can be done as soon as a message is too long, and takes it back when it is not any more.
void ChatController::watch_room() {
    const std::optional<int64_t> tokens = composer_.tokens();
    if (!tokens || !model_ || outgoing_) return;
    const bool too_long = composer_.editing() == 0 && !refusal_of(*tokens).empty();
    const int64_t wanted = too_long ? held_tokens() + *tokens : 0;
    if (too_long && wanted / 1024 != offered_ / 1024) overflow_ = wanted;
    if (!too_long && offered_ > 0) services_.notices.drop("room");
    offered_ = wanted;
}

void ChatController::save_draft() {
    // What is on its way is kept as a draft until it is stored as a message.
    if (composer_.editing() != 0 || loading_ || outgoing_) return;
    Draft draft = composer_.draft();
    if (draft == saved_draft_) return;
    saved_draft_ = draft;
    services_.store.post(
        [id = conversation(), draft = std::move(draft)](Store& store) { return store.save_draft(id, draft); });
}

void ChatController::attach_file(const std::string& path) {
    services_.ask_files([path] { return read_text_file(path); },
                        [this, path](Result<std::string> text) {
                            if (!text) {
                                services_.notices.add(NoticeKind::error, text.error().message, "attach");
                                return changed_();
                            }
                            attach_text({std::filesystem::path(path).filename().string(), std::move(*text)});
                        });
}

void ChatController::send(std::string text) {
    if (busy()) return;
    composer_.change_text(std::move(text));
    if (composer_.empty()) return;
    outgoing_ = Outgoing{composer_.draft(), composer_.editing(), composer_.tokens()};
    composer_.clear();
    if (outgoing_->tokens)
        send_outgoing();
    else
        count_outgoing();
}

void ChatController::count_outgoing() {
    StoredMessage message;
    message.text = outgoing_->draft.text;
    message.attachments = outgoing_->draft.attachments;
    services_.counts.count(prompt_message(message, model_name()).content, [this](const Result<int64_t>& tokens) {
        if (!outgoing_) return;
        if (!tokens) return give_back(tokens.error().message);
        outgoing_->tokens = *tokens;
        send_outgoing();
    });
}

void ChatController::give_back(const std::string& reason) {
    Outgoing outgoing = std::move(*outgoing_);
    outgoing_.reset();
    composer_.show(std::move(outgoing.draft), outgoing.editing);
    services_.notices.add(NoticeKind::error, reason, "send");
    changed_();
}

std::string ChatController::refusal_of(int64_t tokens) const {
    const int64_t context = settings_.cache.context_length;
    const int64_t held = held_tokens();
    if (held + tokens < context) return "";
    return fmt::format("The message has {} tokens, but of the context's {} only {} are free. Nothing was sent.",
                       group_digits(tokens), group_digits(context), group_digits(std::max<int64_t>(context - held, 0)));
}

void ChatController::send_outgoing() {
    if (!model_) return give_back("No model is loaded: choose one in the Model tab.");
    if (outgoing_->editing == 0) {
        if (const std::string refusal = refusal_of(*outgoing_->tokens); !refusal.empty()) {
            overflow_ = held_tokens() + *outgoing_->tokens;
            return give_back(refusal);
        }
    }
    commit();
}

// The message first goes to the store, and only when it is there to the engine.
void ChatController::commit() {
    StoredMessage message;
    message.text = outgoing_->draft.text;
    message.attachments = outgoing_->draft.attachments;
    message.parent_id = tip();
    if (const StoredMessage* edited = find_message(stored_, outgoing_->editing)) {
        message.parent_id = edited->parent_id;
        message.role = edited->role;
    }
    message.created_ms = services_.now_ms();
    const bool wants_reply = message.role == Role::user;
    struct Committed {
        int64_t conversation = 0;
        int64_t message = 0;
        std::string title;
    };
    committing_ = true;
    services_.ask_store(
        [id = conversation(), settings = to_stored(settings_), message](Store& store) -> Result<Committed> {
            Committed committed;
            committed.conversation = id;
            if (id == 0) {
                const Result<int64_t> created = store.create_conversation(settings);
                if (!created) return created.error();
                committed.conversation = *created;
            }
            const Result<int64_t> added = store.add_message(committed.conversation, message);
            if (!added) return added.error();
            committed.message = *added;
            if (id == 0) (void)store.save_draft(0, {});
            return committed;
        },
        [this, opened = opened_, message, wants_reply](Result<Committed> committed) mutable {
            committing_ = false;
            if (!committed) return give_back(fmt::format("The message was not sent: {}", committed.error().message));
            outgoing_.reset();
            if (opened != opened_) return changed_();  // another conversation is shown; the message waits in its own
            if (conversation() == 0) stored_.settings = to_stored(settings_);
            stored_.summary.id = committed->conversation;
            saved_draft_ = {};
            save_draft();
            message.id = committed->message;
            add_shown(stored_, std::move(message));
            forget_views();
            if (wants_reply) start_reply(committed->message);
            changed_();
        });
    changed_();
}

void ChatController::cancel_edit() {
    if (composer_.editing() != 0) composer_.show(saved_draft_);
}

// Messages.

void ChatController::retry(int64_t message) {
    const StoredMessage* found = find_message(stored_, message);
    if (found == nullptr || busy()) return;
    start_reply(found->role == Role::assistant ? found->parent_id : message);
}

void ChatController::continue_reply(int64_t message) {
    const StoredMessage* found = find_message(stored_, message);
    if (found == nullptr || found->role != Role::assistant || busy()) return;
    // Thinking that was cut has to be split from its answer: that reply is written anew.
    if (found->text.empty() || found->ids.empty()) return retry(message);
    start_reply(found->parent_id, {found->text, found->thinking, found->ids});
}

void ChatController::edit(int64_t message) {
    const StoredMessage* found = find_message(stored_, message);
    if (found == nullptr) return;
    composer_.show({found->text, found->attachments}, message);
}

void ChatController::remove(int64_t message) {
    if (busy()) return;
    if (composer_.editing() == message) cancel_edit();
    delete_branch(stored_, message);
    forget_views();
    services_.store.post([message](Store& store) { return store.delete_branch(message); });
    changed_();
}

void ChatController::show_sibling(int64_t message, int sibling) {
    const std::vector<int64_t> all = alternatives(stored_, message);
    if (sibling < 1 || static_cast<size_t>(sibling) > all.size()) return;
    const int64_t wanted = all[static_cast<size_t>(sibling) - 1];
    show_message(stored_, wanted);
    forget_views();
    services_.store.post([wanted](Store& store) { return store.show_message(wanted); });
    changed_();
}

void ChatController::drop_oldest(int64_t tokens) {
    const std::vector<const StoredMessage*> shown = shown_messages(stored_);
    const int64_t held = held_tokens();
    int64_t dropped = settings_.dropped_tokens;
    bool past_start = settings_.first_message_read == 0;
    for (size_t i = 0; i < shown.size(); ++i) {
        if (shown[i]->id == settings_.first_message_read) past_start = true;
        const bool begins_turn = shown[i]->role == Role::user && i > 0;
        if (!past_start || !begins_turn || shown[i]->id == settings_.first_message_read) continue;
        const ReplyFigures& before = shown[i - 1]->figures;
        if (before.prompt_tokens > 0) dropped = before.prompt_tokens + before.generated_tokens;
        settings_.first_message_read = shown[i]->id;
        settings_.dropped_tokens = dropped;
        settings_.dropped_at = shown.back()->id;
        if (held - dropped + tokens < settings_.cache.context_length) break;
    }
    forget_views();
    save_settings();
}

void ChatController::stop() {
    if (!running_) return;
    running_->stop();
    services_.engine.stop();
    changed_();
}

// Replies.

std::vector<Message> ChatController::prompt_up_to(int64_t last) const {
    std::vector<Message> messages;
    if (!settings_.sampling.system_prompt.empty()) messages.push_back({Role::system, settings_.sampling.system_prompt});
    // From the last message up, so that it does not matter what is shown below it.
    std::vector<const StoredMessage*> path;
    for (int64_t id = last; id != 0;) {
        const StoredMessage* message = find_message(stored_, id);
        if (message == nullptr || path.size() > stored_.messages.size()) break;
        path.push_back(message);
        id = message->id == settings_.first_message_read ? 0 : message->parent_id;
    }
    for (auto message = path.rbegin(); message != path.rend(); ++message) {
        const bool empty_reply =
            (*message)->role == Role::assistant && (*message)->ids.empty() && (*message)->text.empty();
        if (!empty_reply) messages.push_back(prompt_message(**message, model_name()));
    }
    return messages;
}

ReplyRequest ChatController::make_request(int64_t parent) const {
    ReplyRequest request;
    request.conversation = session();
    request.prompt = {prompt_up_to(parent), settings_.sampling.thinking};
    request.sampler = settings_.sampling.sampler;
    // The same run repeats; a reply that is made again differs.
    request.sampler.seed +=
        static_cast<uint64_t>(std::count_if(stored_.messages.begin(), stored_.messages.end(),
                                            [&](const StoredMessage& message) { return message.parent_id == parent; }));
    request.max_tokens = settings_.sampling.max_tokens;
    request.cache = settings_.cache;
    return request;
}

// The store gives the reply its id; then the engine is asked.
void ChatController::start_reply(int64_t parent, ReplyPart begun) {
    starting_ = true;
    ReplyRequest request = make_request(parent);
    request.begun = begun.ids;
    services_.ask_store([id = conversation(), parent](Store& store) { return store.begin_reply(id, parent); },
                        [this, id = conversation(), parent, request = std::move(request),
                         begun = std::move(begun)](Result<int64_t> reply) mutable {
                            starting_ = false;
                            if (!reply) {
                                services_.notices.add(NoticeKind::error, reply.error().message, "send");
                                return changed_();
                            }
                            if (!begun.ids.empty()) services_.store.append_reply(*reply, begun);
                            running_ =
                                std::make_unique<RunningReply>(id, *reply, request.prompt.thinking, std::move(begun));
                            if (id == conversation()) {
                                StoredMessage message;
                                message.id = *reply;
                                message.parent_id = parent;
                                message.role = Role::assistant;
                                message.state = MessageState::streaming;
                                message.with_thinking = request.prompt.thinking;
                                message.created_ms = services_.now_ms();
                                add_shown(stored_, std::move(message));
                                forget_views();
                            }
                            services_.engine.reply(std::move(request));
                            changed_();
                        });
}

void ChatController::on(const ReplyProgressed& event) {
    if (!running_ || event.conversation != session_of(running_->conversation())) return;
    running_->progress(event.progress);
    views_.erase(running_->message());
    changed_();
}

void ChatController::on(const ReplyStreamed& event) {
    if (!running_ || event.conversation != session_of(running_->conversation())) return;
    services_.store.append_reply(running_->message(), running_->add(event.delta, services_.now_ms()));
    views_.erase(running_->message());
    changed_();
}

void ChatController::on(const ReplyEnded& event) {
    if (!running_ || event.conversation != session_of(running_->conversation())) return;
    const FinishedReply finished = running_->finish(event.report, model_name(), services_.now_ms());
    const int64_t id = running_->message();
    services_.store.post([id, finished](Store& store) { return store.finish_reply(id, finished); });
    last_finished_ = {id, finished};
    if (StoredMessage* message = find_message(stored_, id)) apply_finished(*message, finished);
    const bool full = event.report ? event.report->stop == StopReason::context_full
                                   : event.report.error().kind == ErrorKind::context_full;
    if (full) overflow_ = settings_.cache.context_length + 1;
    running_.reset();
    views_.erase(id);
    changed_();
}

}  // namespace octavo
