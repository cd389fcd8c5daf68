// From messages to the exact prompt a model was trained on. A dialect is data: which markup surrounds a turn, how
// thinking is opened, closed and dropped from history. The dialect is found from the file's own template.
//
// Threads: const methods may be called from any thread.
// Non-goals (for now): tool calls, and running a file's Jinja template as such.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

enum class Role { system, user, assistant };

struct Message {
    Role role = Role::user;
    std::string content;    // without the thinking part
    std::string reasoning;  // assistant only: the text between <think> and </think>
};

struct RenderOptions {
    bool thinking = true;               // ignored by dialects without thinking
    bool add_generation_prompt = true;  // end with the opening of the assistant's turn
};

struct ChatDialect {
    std::string_view name;  // "chatml", "chatml-thinking"
    bool thinking = false;  // has <think> blocks
    bool keep_old_reasoning = false;
};

class ChatTemplate {
  public:
    // `source` is the file's template text; empty means plain ChatML. Fails when no dialect fits.
    static Result<ChatTemplate> detect(std::string_view source);

    const ChatDialect& dialect() const { return *dialect_; }
    Result<std::vector<PromptPart>> render(const std::vector<Message>& messages, const RenderOptions& options) const;

  private:
    explicit ChatTemplate(const ChatDialect* dialect) : dialect_(dialect) {}
    const ChatDialect* dialect_;
};

}  // namespace octavo
