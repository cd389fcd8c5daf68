// From messages to the exact prompt a model was trained on. The dialect (dialect.h) is found from the file's own
// template, and so are the words that it says about tools.
//
// A reply that carries the ids it was generated as is rendered with exactly these wherever the dialect keeps the whole
// reply. Then the prompt of the next turn begins with the tokens of this one, and nothing has to be read again.
//
// Threads: const methods may be called from any thread.
// Non-goal: running a file's Jinja template as such.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/chat/dialect.h"
#include "models/chat/message.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

struct RenderOptions {
    bool thinking = true;                 // ignored by dialects that cannot switch it
    bool add_generation_prompt = true;    // end with the opening of the assistant's turn
    bool keep_old_reasoning = false;      // ignored by dialects that cannot
    std::vector<std::string> tools = {};  // JSON each, from parse_tools
};

class ChatTemplate {
  public:
    // `source` is the file's template text; empty means plain ChatML, which also stands in for unknown templates: then
    // `note` is not empty.
    static ChatTemplate detect(std::string_view source) { return ChatTemplate(find_dialect(source)); }

    const ChatDialect& dialect() const { return *found_.dialect; }
    const std::string& note() const { return found_.note; }
    // Errors: no messages, what a strict dialect refuses, tools where the dialect has no place for them, calls whose
    // arguments are no JSON object.
    Result<std::vector<PromptPart>> render(const std::vector<Message>& messages, const RenderOptions& options) const;

  private:
    explicit ChatTemplate(FoundDialect found) : found_(std::move(found)) {}
    FoundDialect found_;
};

}  // namespace octavo
