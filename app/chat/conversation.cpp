#include "app/chat/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string_view>
#include <utility>

#include "app/size_text.h"

namespace octavo {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{50};
const char* const kSessionName = "chat";

Message user_message_of(const std::string& documents, const std::string& text) {
    Message message;
    message.content = documents;
    if (!documents.empty() && !text.empty()) message.content += kAfterDocument;
    message.content += text;
    message.attached_bytes = documents.size();
    return message;
}

}  // namespace

std::string typed_part(const Message& message) {
    std::string_view text = std::string_view(message.content).substr(message.attached_bytes);
    if (message.attached_bytes > 0 && text.starts_with(kAfterDocument)) text.remove_prefix(kAfterDocument.size());
    return std::string(text);
}

Result<GenerationReport> Conversation::ask(const std::string& text, ReplyWatcher& watcher) {
    std::vector<Message> messages = messages_;
    messages.push_back(user_message_of(attached_, text));
    const size_t before = messages_.size();
    Result<GenerationReport> report = reply_to(std::move(messages), watcher);
    if (messages_.size() != before) detach();  // kept, with its reply
    return report;
}

Result<GenerationReport> Conversation::regenerate(ReplyWatcher& watcher) {
    std::vector<Message> messages = messages_;
    if (messages.empty() || messages.back().role != Role::assistant)
        return Error{ErrorKind::usage, "There is no reply to make again yet."};
    messages.pop_back();
    return reply_to(std::move(messages), watcher);
}

Result<GenerationReport> Conversation::edit(int64_t number, const std::string& text, ReplyWatcher& watcher) {
    const Result<size_t> index = find_user_message(number);
    if (!index) return index.error();
    std::vector<Message> messages(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(*index));
    const Message& old = messages_[*index];
    messages.push_back(user_message_of(old.content.substr(0, old.attached_bytes), text));
    return reply_to(std::move(messages), watcher);
}

Result<int64_t> Conversation::attach(const std::string& text) {
    const Result<std::vector<int32_t>> ids = engine_->model().tokenizer->encode_text(text);
    if (!ids) return ids.error();
    const auto tokens = static_cast<int64_t>(ids->size());
    const Result<CacheState> state = cache_state();
    if (!state) return state.error();
    const int64_t context = state->context_length;
    const int64_t used = context_used_ + attached_tokens_;
    if (used + tokens >= context)
        return Error{ErrorKind::context_full,
                     fmt::format("The file has {} tokens, but of the context's {} only {} are free: raise the context "
                                 "length (--ctx, in a chat /ctx), /clear the conversation, or take a shorter file.",
                                 group_digits(tokens), group_digits(context),
                                 group_digits(std::max<int64_t>(context - used, 0)))};
    if (!attached_.empty()) attached_ += kAfterDocument;
    attached_ += text;
    attached_tokens_ += tokens;
    return tokens;
}

int64_t Conversation::detach() {
    attached_.clear();
    return std::exchange(attached_tokens_, 0);
}

Result<std::string> Conversation::user_message(int64_t number) const {
    const Result<size_t> index = find_user_message(number);
    if (!index) return index.error();
    return typed_part(messages_[*index]);
}

Result<size_t> Conversation::find_user_message(int64_t number) const {
    int64_t count = 0;
    for (size_t i = 0; i < messages_.size(); ++i)
        if (messages_[i].role == Role::user && ++count == number) return i;
    return Error{ErrorKind::usage, fmt::format("There is no message {} of yours: there are {}.", number, count)};
}

std::string Conversation::system_prompt() const {
    return !messages_.empty() && messages_.front().role == Role::system ? messages_.front().content : "";
}

void Conversation::set_system_prompt(const std::string& text) {
    if (!system_prompt().empty()) messages_.erase(messages_.begin());
    if (!text.empty()) messages_.insert(messages_.begin(), {Role::system, text, ""});
}

Status Conversation::clear() {
    const std::string system = system_prompt();
    messages_.clear();
    set_system_prompt(system);
    detach();
    context_used_ = 0;
    if (keeper_ != nullptr) keeper_->conversation_cleared();
    return engine_->call(kSessionName, [](Session& session) {
        session.clear();
        return Status();
    });
}

Result<KvChange> Conversation::change_kv(const KvSettings& settings) {
    return engine_->call(kSessionName, [&](Session& session) -> Result<KvChange> {
        Job job;
        return session.change_kv(settings, job);
    });
}

Result<PrefillReport> Conversation::rebuild(ReplyWatcher& watcher) {
    Job job;
    std::future<Result<PrefillReport>> done = std::async(std::launch::async, [&] {
        return engine_->call(kSessionName, [&](Session& session) { return session.rebuild(job); });
    });
    while (done.wait_for(kWatchInterval) != std::future_status::ready) {
        if (watcher.stop_wanted()) job.cancel();
        GenerationProgress progress;
        progress.phase = GenerationPhase::prefill;
        progress.processed_tokens = job.progress().done;
        progress.prompt_tokens = job.progress().total;
        watcher.on_progress(progress);
    }
    return done.get();
}

Status Conversation::set_context_length(int64_t tokens) {
    return engine_->call(kSessionName, [&](Session& session) { return session.set_context_length(tokens); });
}

Result<Conversation::CacheState> Conversation::cache_state() const {
    return engine_->call(kSessionName, [](Session& session) -> Result<CacheState> {
        const KvCache& cache = session.cache();
        return CacheState{cache.settings(), session.context_length(), cache.bytes_per_token(),
                          cache.committed_bytes() + cache.copy_buffer_bytes()};
    });
}

Result<GenerationReport> Conversation::reply_to(std::vector<Message> messages, ReplyWatcher& watcher) {
    GenerateRequest request;
    request.conversation = kSessionName;
    request.prompt = ChatPrompt{.messages = messages, .thinking = settings_.thinking, .tools = settings_.tools};
    request.sampler = settings_.sampler;
    request.sampler.seed += replies_++;
    request.max_tokens = settings_.max_tokens;

    if (keeper_ != nullptr) keeper_->reply_begins(messages, settings_.thinking);
    const std::shared_ptr<Generation> generation = engine_->generate(std::move(request));
    for (bool finished = false; !finished;) {
        if (watcher.stop_wanted()) generation->cancel();
        const GenerationDelta delta = generation->wait(kWatchInterval);
        watcher.on_progress(generation->progress());
        if (!delta.empty()) watcher.on_delta(delta);
        if (keeper_ != nullptr && !delta.empty()) keeper_->reply_grows(delta);
        finished = delta.finished;
    }
    const Result<GenerationReport>& report = generation->report();
    if (keeper_ != nullptr) keeper_->reply_ends(report);
    if (report && !(report->stop == StopReason::cancelled && report->ids.empty())) {
        messages.push_back({.role = Role::assistant,
                            .content = report->text,
                            .reasoning = report->reasoning,
                            .ids = report->ids,
                            .thinking = settings_.thinking,
                            .calls = report->calls});
        messages_ = std::move(messages);
        context_used_ = report->prompt_tokens + static_cast<int64_t>(report->ids.size());
    }
    return report;
}

}  // namespace octavo
