// The open conversation as the window draws it.
#include <fmt/format.h>

#include <algorithm>

#include "app/chat/reply_view.h"
#include "app/desktop/chat_controller.h"
#include "app/size_text.h"
#include "app/store/message_tree.h"

namespace octavo {
namespace {

// Kept for a reply of which nobody knows how long it will be.
constexpr int64_t kUsualReply = 1024;

MessagePhase phase_of(const StoredMessage& message) {
    switch (message.state) {
        case MessageState::complete: return MessagePhase::complete;
        case MessageState::streaming:
        case MessageState::stopped: return MessagePhase::stopped;
        case MessageState::failed: return MessagePhase::failed;
    }
    return MessagePhase::complete;
}

}  // namespace

std::shared_ptr<const MessageView> ChatController::make_view(const StoredMessage& message, bool in_context,
                                                             const std::vector<int64_t>& siblings) {
    const auto kept = views_.find(message.id);
    if (kept != views_.end()) return kept->second;
    auto view = std::make_shared<MessageView>();
    view->id = message.id;
    view->revision = ++last_revision_;
    view->role = message.role;
    view->phase = phase_of(message);
    view->text = message.role == Role::assistant ? without_leading_space(message.text) : message.text;
    view->thinking = message.thinking;
    view->thinking_seconds = message.figures.thinking_seconds;
    view->note = message.figures.note;
    view->in_context = in_context;
    for (const Attachment& attachment : message.attachments)
        view->attachments.push_back({attachment.name, static_cast<int64_t>(attachment.text.size()), -1});
    if (message.figures.prompt_tokens > 0) view->figures = figures_view(message.figures);
    view->siblings = static_cast<int>(siblings.size());
    const auto place = std::find(siblings.begin(), siblings.end(), message.id);
    view->sibling = static_cast<int>(place - siblings.begin()) + 1;
    if (running_ && running_->message() == message.id) {
        const FinishedReply& so_far = running_->so_far();
        view->phase = running_->phase();
        view->text = without_leading_space(so_far.text);
        view->thinking = so_far.thinking;
        view->thinking_seconds = running_->thinking_seconds(services_.now_ms());
    }
    views_[message.id] = view;
    return view;
}

void ChatController::fill_transcript(TranscriptState& state) {
    state.conversation = conversation();
    state.title = stored_.summary.title;
    state.loading = loading_;
    state.error = open_error_;
    state.messages.clear();
    const std::vector<const StoredMessage*> shown = shown_messages(stored_);
    const bool some_left_out = std::any_of(shown.begin(), shown.end(), [&](const StoredMessage* message) {
        return message->id == settings_.first_message_read;
    });
    std::map<int64_t, std::vector<int64_t>> children;
    for (const StoredMessage& message : stored_.messages) children[message.parent_id].push_back(message.id);
    bool in_context = !some_left_out;
    for (const StoredMessage* message : shown) {
        in_context = in_context || message->id == settings_.first_message_read;
        state.messages.push_back(make_view(*message, in_context, children[message->parent_id]));
    }
}

void ChatController::fill_composer(ComposerState& state) const {
    composer_.fill(state);
    const int64_t max_tokens = settings_.sampling.max_tokens;
    state.context_tokens = model_ ? settings_.cache.context_length : 0;
    state.held_tokens = std::max(running_tokens(), held_tokens());
    state.reserve_tokens = max_tokens > 0 ? max_tokens : std::min(kUsualReply, state.context_tokens / 4);
    const std::optional<int64_t> tokens = composer_.tokens();
    if (!model_)
        state.blocked_reason = "No model is loaded: choose one in the Model tab.";
    else if (running_ && running_->conversation() != conversation())
        state.blocked_reason = "The engine is writing a reply in another conversation.";
    else if (!composer_.problem().empty())
        state.blocked_reason = composer_.problem();
    else if (tokens && composer_.editing() == 0)
        state.blocked_reason = refusal_of(*tokens);
    state.can_send = state.blocked_reason.empty() && !busy() && !composer_.empty();
}

void ChatController::fill(ViewState& state) {
    fill_transcript(state.transcript);
    fill_composer(state.composer);
    state.sampling.applied = settings_.sampling;
    state.sampling.revision = opened_;
    state.sampling.system_prompt_tokens = system_prompt_tokens_;
}

}  // namespace octavo
