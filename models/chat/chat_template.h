// From messages to the exact prompt a model was trained on. A dialect is data: how thinking is opened, closed and
// dropped from history, what is trimmed, what is refused. The dialect is found from the file's own template.
//
// A reply that carries the ids it was generated as is rendered with exactly these wherever the dialect keeps the whole
// reply. Then the prompt of the next turn begins with the tokens of this one, and nothing has to be read again.
//
// Threads: const methods may be called from any thread.
// Non-goals (for now): tool calls, and running a file's Jinja template as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

enum class Role { system, user, assistant };

struct Message {
    Role role = Role::user;
    std::string content = {};    // without the thinking part
    std::string reasoning = {};  // assistant only: the text between <think> and </think>
    // Assistant only: the tokens that were generated after the generation prompt, thinking included, without the one
    // that ended the reply. Empty: the text above is all there is.
    std::vector<int32_t> ids = {};
    bool thinking = true;  // with `ids`: RenderOptions::thinking of the prompt that they answered
    // User only: how many bytes at the start of `content` are documents; what a person typed comes after them.
    size_t attached_bytes = 0;
};

struct RenderOptions {
    bool thinking = true;               // ignored by dialects that cannot switch it
    bool add_generation_prompt = true;  // end with the opening of the assistant's turn
    bool keep_old_reasoning = false;    // ignored by dialects that cannot
};

struct ChatDialect {
    std::string_view name;
    bool thinking = false;  // has <think> blocks
    // What follows the opening of the assistant's turn in a generation prompt.
    std::string_view opening = "";
    std::string_view opening_without_thinking = "";
    bool trims = false;                   // white space around every message goes
    bool always_shows_reasoning = false;  // after the last question even an empty block is written
    bool keep_old_reasoning = false;      // has the option
    bool strict = false;                  // refuses a second system message and a conversation without a question

    bool can_switch_thinking() const { return opening != opening_without_thinking; }
    std::string_view reply_opening(bool with_thinking) const {
        return with_thinking ? opening : opening_without_thinking;
    }
    // Whether a reply starts inside a thinking block that the prompt has opened.
    bool starts_in_reasoning(bool with_thinking) const { return reply_opening(with_thinking) == "<think>\n"; }
};

class ChatTemplate {
  public:
    // `source` is the file's template text; empty means plain ChatML. Fails when no dialect fits.
    static Result<ChatTemplate> detect(std::string_view source);

    const ChatDialect& dialect() const { return *dialect_; }
    // Errors: no messages, or what a strict dialect refuses.
    Result<std::vector<PromptPart>> render(const std::vector<Message>& messages, const RenderOptions& options) const;

  private:
    explicit ChatTemplate(const ChatDialect* dialect) : dialect_(dialect) {}
    const ChatDialect* dialect_;
};

}  // namespace octavo
