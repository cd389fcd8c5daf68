// One conversation in a terminal: its messages, and the ways to go on from them. Failed, or stopped before the first
// word, a request leaves the messages as they were.
//
// Replies are kept exactly as generated (leading white space too), so that the prompt of the next turn begins with the
// tokens that the engine already holds.
//
// Threads: one thread; the engine works on its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/engine.h"

namespace octavo {

struct ReplySettings {
    SamplerOptions sampler;
    int64_t max_tokens = 0;  // 0: until the reply or the context ends
    bool thinking = true;
    std::vector<std::string> tools = {};  // that the model may call; JSON each
};

// What watches a reply while it comes.
class ReplyWatcher {
  public:
    virtual ~ReplyWatcher() = default;
    virtual void on_progress(const GenerationProgress& progress) = 0;
    virtual void on_delta(const GenerationDelta& delta) = 0;
    virtual bool stop_wanted() = 0;
};

// What keeps a conversation while it goes on. A reply is either made or taken back, see Conversation.
class ConversationKeeper {
  public:
    virtual ~ConversationKeeper() = default;
    // Before the engine works on a reply to `messages`; returns when they are kept. `thinking`: whether it may think.
    virtual void reply_begins(const std::vector<Message>& messages, bool thinking) = 0;
    virtual void reply_grows(const GenerationDelta& delta) = 0;
    virtual void reply_ends(const Result<GenerationReport>& report) = 0;
    virtual void conversation_cleared() = 0;
};

// Between the documents of a message, and before what was typed.
inline constexpr std::string_view kAfterDocument = "\n\n";

// What a person typed in a message, without the documents before it.
std::string typed_part(const Message& message);

class Conversation {
  public:
    Conversation(Engine& engine, ReplySettings settings) : engine_(&engine), settings_(std::move(settings)) {}

    // `text` follows what was attached; empty, what was attached is the message.
    Result<GenerationReport> ask(const std::string& text, ReplyWatcher& watcher);
    // Another reply to the last question; with a temperature above 0 it differs.
    Result<GenerationReport> regenerate(ReplyWatcher& watcher);
    // Replaces what the person typed in message `number` (from 1); its documents stay, what followed it is forgotten.
    Result<GenerationReport> edit(int64_t number, const std::string& text, ReplyWatcher& watcher);

    // Goes before the next message. Gives its length in tokens; refused where the context has no room for it.
    Result<int64_t> attach(const std::string& text);
    // Drops what would go before the next message; gives its length in tokens.
    int64_t detach();
    int64_t attached_tokens() const { return attached_tokens_; }

    // Goes on from these, as if they had been said here.
    void resume(std::vector<Message> messages) { messages_ = std::move(messages); }
    // `keeper` outlives the conversation; null: none.
    void set_keeper(ConversationKeeper* keeper) { keeper_ = keeper; }
    bool kept() const { return keeper_ != nullptr; }

    const std::vector<Message>& messages() const { return messages_; }
    // What the person typed in message `number` (from 1), without documents; ErrorKind::usage names how many there are.
    Result<std::string> user_message(int64_t number) const;
    std::string system_prompt() const;
    void set_system_prompt(const std::string& text);  // empty: none
    Status clear();                                   // all but the system prompt, also what the engine holds

    // Other settings for the KV cache of what was said and what comes (see Session::change_kv).
    Result<KvChange> change_kv(const KvSettings& settings);
    // Reads everything again under the present settings; the watcher sees progress and may stop it.
    Result<PrefillReport> rebuild(ReplyWatcher& watcher);
    Status set_context_length(int64_t tokens);
    struct CacheState {
        KvSettings settings;
        int64_t context_length = 0;
        int64_t bytes_per_token = 0;
        int64_t committed_bytes = 0;  // pools and FP16 copies
    };
    Result<CacheState> cache_state() const;

    int64_t context_used() const { return context_used_; }  // tokens after the last reply
    const Engine& engine() const { return *engine_; }

  private:
    Result<size_t> find_user_message(int64_t number) const;
    // Replies to `messages`, and keeps them with the reply when there is one.
    Result<GenerationReport> reply_to(std::vector<Message> messages, ReplyWatcher& watcher);

    Engine* engine_;
    ConversationKeeper* keeper_ = nullptr;
    ReplySettings settings_;
    std::vector<Message> messages_;
    std::string attached_;  // documents, with an empty line between them
    int64_t attached_tokens_ = 0;
    int64_t context_used_ = 0;
    uint64_t replies_ = 0;  // added to the seed: the same run repeats, a regenerated reply does not
};

}  // namespace octavo
