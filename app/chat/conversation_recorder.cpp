#include "app/chat/conversation_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/store/message_tree.h"
#include "app/store/reply_figures.h"

namespace octavo {

Result<std::vector<Message>> ConversationRecorder::resume(int64_t conversation_id) {
    const Result<StoredConversation> whole =
        store_->ask([=](Store& store) { return store.conversation(conversation_id); }).get();
    if (!whole) return whole.error();
    if (whole->summary.deleted_ms > 0)
        return Error{ErrorKind::usage, fmt::format("Conversation {0} is in the trash: restore it first with 'octavo "
                                                   "conversations restore {0}'.",
                                                   conversation_id)};
    for (const std::string& problem : whole->problems) complain_(problem);
    conversation_id_ = conversation_id;
    system_prompt_ = whole->settings.text("system_prompt").value_or("");
    kept_.clear();
    for (const StoredMessage* message : messages_for_prompt(*whole))
        kept_.push_back({message->id, message->role, prompt_message(*message, model_).content});
    return prompt_messages(*whole, model_);
}

void ConversationRecorder::reply_begins(const std::vector<Message>& messages, bool thinking) {
    reply_id_ = 0;
    reply_ = {};
    reply_.with_thinking = thinking;
    if (const Status kept = keep_messages(messages); !kept) note_failure(kept.error());
    note_failures_of_store();
}

Status ConversationRecorder::keep_messages(const std::vector<Message>& messages) {
    const bool has_system = !messages.empty() && messages.front().role == Role::system;
    const auto begin = messages.begin() + (has_system ? 1 : 0);
    const auto same = [](const Kept& kept, const Message& message) {
        return kept.role == message.role && kept.content == message.content;
    };
    const auto [kept_end, said] = std::mismatch(kept_.begin(), kept_.end(), begin, messages.end(), same);
    kept_.erase(kept_end, kept_.end());
    if (conversation_id_ == 0) {
        const Result<int64_t> created = store_->ask([](Store& store) { return store.create_conversation(); }).get();
        if (!created) return created.error();
        conversation_id_ = *created;
    }
    if (const Status kept = keep_system_prompt(has_system ? messages.front().content : ""); !kept) return kept;
    for (auto message = said; message != messages.end(); ++message)
        if (const Status kept = keep_message(*message); !kept) return kept;
    const int64_t parent = kept_.empty() ? 0 : kept_.back().id;
    const Result<int64_t> reply =
        store_->ask([&](Store& store) { return store.begin_reply(conversation_id_, parent); }).get();
    if (!reply) return reply.error();
    reply_id_ = *reply;
    return {};
}

Status ConversationRecorder::keep_system_prompt(const std::string& text) {
    if (text == system_prompt_) return {};
    Settings settings;
    settings.set_text("system_prompt", text);
    const Status saved =
        store_->ask([&](Store& store) { return store.save_conversation_settings(conversation_id_, settings); }).get();
    if (saved) system_prompt_ = text;
    return saved;
}

Status ConversationRecorder::keep_message(const Message& message) {
    const StoredMessage stored = stored_message(message, kept_.empty() ? 0 : kept_.back().id);
    const Result<int64_t> id =
        store_->ask([&](Store& store) { return store.add_message(conversation_id_, stored); }).get();
    if (!id) return id.error();
    kept_.push_back({*id, message.role, message.content});
    return {};
}

void ConversationRecorder::reply_grows(const GenerationDelta& delta) {
    if (reply_id_ == 0) return;
    reply_.text += delta.text;
    reply_.thinking += delta.reasoning;
    reply_.ids.insert(reply_.ids.end(), delta.ids.begin(), delta.ids.end());
    store_->append_reply(reply_id_, {delta.text, delta.reasoning, delta.ids});
}

void ConversationRecorder::reply_ends(const Result<GenerationReport>& report) {
    if (reply_id_ == 0) return;
    if (report) {
        reply_.state = report->stop == StopReason::end_of_turn ? MessageState::complete : MessageState::stopped;
        reply_.text = report->text;
        reply_.thinking = report->reasoning;
        reply_.ids = report->ids;
        reply_.figures = figures_of(*report, model_);
        kept_.push_back({reply_id_, Role::assistant, report->text});
    } else {
        reply_.state = MessageState::failed;
        reply_.figures.model = model_;
        reply_.figures.note = report.error().message;
    }
    store_->post([id = reply_id_, reply = reply_](Store& store) { return store.finish_reply(id, reply); });
}

void ConversationRecorder::conversation_cleared() {
    conversation_id_ = 0;
    system_prompt_.clear();
    kept_.clear();
}

int64_t ConversationRecorder::finish() {
    store_->ask([](Store&) { return Status(); }).wait();
    note_failures_of_store();
    return conversation_id_;
}

void ConversationRecorder::note_failure(const Error& error) {
    all_kept_ = false;
    complain_(error.message);
}

void ConversationRecorder::note_failures_of_store() {
    for (const Error& error : store_->take_errors()) note_failure(error);
}

}  // namespace octavo
