// Keeps a terminal's conversation in the store: what a person says before it is answered, a reply while it comes.
//
// What the conversation forgets (a question that was edited, a reply that was made again, one that was taken back)
// stays in the store as a branch that is not shown.
//
// Threads: one; the store works on its own. Saying something waits until it is saved.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/chat/conversation.h"
#include "app/store/store_thread.h"

namespace octavo {

class ConversationRecorder : public ConversationKeeper {
  public:
    // `model`: its name. `complain`: is told what could not be kept, in a sentence; the chat goes on.
    ConversationRecorder(StoreThread& store, std::string model, std::function<void(const std::string&)> complain)
        : store_(&store), model_(std::move(model)), complain_(std::move(complain)) {}

    // Goes on with a conversation of the store that is not in the trash. Gives its messages as a prompt.
    Result<std::vector<Message>> resume(int64_t conversation_id);

    void reply_begins(const std::vector<Message>& messages, bool thinking) override;
    void reply_grows(const GenerationDelta& delta) override;
    void reply_ends(const Result<GenerationReport>& report) override;
    void conversation_cleared() override;

    // Waits until all is saved. Gives the conversation; 0: nothing was kept.
    int64_t finish();
    // Whether nothing that was to be kept has failed so far.
    bool all_kept() const { return all_kept_; }

  private:
    struct Kept {
        int64_t id = 0;
        Role role = Role::user;
        std::string content;  // as in Message
    };

    Status keep_messages(const std::vector<Message>& messages);
    Status keep_system_prompt(const std::string& text);
    void note_failure(const Error& error);
    void note_failures_of_store();
    // Keeps one message below the last one kept.
    Status keep_message(const Message& message);

    StoreThread* store_;
    std::string model_;
    std::function<void(const std::string&)> complain_;
    int64_t conversation_id_ = 0;
    std::string system_prompt_;
    std::vector<Kept> kept_;  // of the path that the conversation is on, without the system prompt
    int64_t reply_id_ = 0;    // of the reply that is coming; 0: it is not kept
    FinishedReply reply_;
    bool all_kept_ = true;
};

}  // namespace octavo
