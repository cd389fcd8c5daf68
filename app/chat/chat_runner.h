// What a person enters in a chat: a message, or a command that begins with '/'. The same for the interactive prompt,
// for piped input and for -p, so that scripts can do all that a person can. A message that begins with '/' is written
// with '//'.
//
// Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/chat/conversation.h"
#include "app/chat/reply_view.h"

namespace octavo {

class ChatRunner {
  public:
    enum class Outcome { go_on, quit };

    // `interactive`: the person can finish a command that needs more (see take_draft).
    ChatRunner(Conversation& conversation, ReplyView& view, bool interactive, bool show_ids)
        : conversation_(&conversation), view_(&view), interactive_(interactive), show_ids_(show_ids) {}

    // An error leaves the conversation as it was. A reply that was stopped is a reply.
    Result<Outcome> run(const std::string& input);

    const std::vector<GenerationReport>& replies() const { return replies_; }
    // Text to start the next input with, such as the message that /edit is about; once.
    std::string take_draft();

  private:
    struct Command;
    static const Command* find_command(std::string_view name);

    Result<Outcome> run_command(const std::string& input);
    Result<Outcome> finish_reply(const Result<GenerationReport>& report);

    Result<Outcome> ask(const std::string& text);
    Result<Outcome> help(const std::string& argument);
    Result<Outcome> regenerate(const std::string& argument);
    Result<Outcome> edit(const std::string& argument);
    Result<Outcome> system(const std::string& argument);
    Result<Outcome> attach_file(const std::string& argument);
    Result<Outcome> clear(const std::string& argument);
    Result<Outcome> stats(const std::string& argument);
    Result<Outcome> save(const std::string& argument);
    Result<Outcome> change_kv(const std::string& argument);
    Result<Outcome> rebuild(const std::string& argument);
    Result<Outcome> set_context(const std::string& argument);
    Result<Outcome> quit(const std::string& argument);

    Conversation* conversation_;
    ReplyView* view_;
    bool interactive_;
    bool show_ids_;
    std::vector<GenerationReport> replies_;
    size_t first_reply_ = 0;  // in replies_, of the conversation as it is since /clear
    std::string draft_;
};

}  // namespace octavo
