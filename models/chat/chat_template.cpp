#include "models/chat/chat_template.h"

#include <fmt/format.h>
#include <cstddef>

#include "models/chat/text_trim.h"

namespace octavo {
namespace {

constexpr std::string_view think_open = "<think>\n";
constexpr std::string_view think_close = "\n</think>\n\n";
constexpr std::string_view think_empty = "<think>\n\n</think>\n\n";

constexpr ChatDialect dialects[] = {
    // Pocket, Qwen3-Next-Instruct, Qwen3-Coder without tools
    {.name = "chatml"},
    // Qwen3: the model opens the block itself
    {.name = "qwen3", .thinking = true, .opening_without_thinking = think_empty},
    // Qwen3-Next-Thinking
    {.name = "qwen3-thinking", .thinking = true, .opening = think_open, .opening_without_thinking = think_open},
    // Qwen3.5
    {.name = "qwen3.5",
     .thinking = true,
     .opening = think_open,
     .opening_without_thinking = think_empty,
     .trims = true,
     .always_shows_reasoning = true,
     .strict = true},
    // Qwen3.6
    {.name = "qwen3.6",
     .thinking = true,
     .opening = think_open,
     .opening_without_thinking = think_empty,
     .trims = true,
     .always_shows_reasoning = true,
     .keep_old_reasoning = true,
     .strict = true},
};

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// What a template's text tells of its dialect; a newline is spelled "\n" there.
bool fits(const ChatDialect& dialect, std::string_view source) {
    if (dialect.thinking != contains(source, "</think>")) return false;
    if (!dialect.thinking) return true;
    const std::size_t place = source.rfind("add_generation_prompt");
    const std::string_view generation = place == std::string_view::npos ? "" : source.substr(place);
    const bool opens = contains(generation, R"(<think>\n')") || contains(generation, R"(<think>\n")");
    const bool opens_empty = contains(generation, R"(<think>\n\n</think>\n\n)");
    return opens == (dialect.opening == think_open) &&
           opens_empty == (dialect.opening_without_thinking == think_empty) &&
           contains(source, "preserve_thinking") == dialect.keep_old_reasoning &&
           contains(source, "No user query found") == dialect.strict;
}

// An assistant's message in two, as the templates do it: reasoning may also stand in the content between tags.
struct Reply {
    std::string_view reasoning;
    std::string_view content;
};

Reply split_reply(const Message& message, std::string_view content) {
    constexpr std::string_view open = "<think>";
    constexpr std::string_view close = "</think>";
    const std::size_t first = content.find(close);
    if (!message.reasoning.empty() || first == std::string_view::npos) return {message.reasoning, content};
    std::string_view reasoning = trim_right(content.substr(0, first), '\n');
    if (const std::size_t start = reasoning.rfind(open); start != std::string_view::npos)
        reasoning.remove_prefix(start + open.size());
    return {trim_left(reasoning, '\n'), trim_left(content.substr(content.rfind(close) + close.size()), '\n')};
}

class Renderer {
  public:
    Renderer(const ChatDialect& dialect, const std::vector<Message>& messages, const RenderOptions& options)
        : dialect_(dialect), messages_(messages), options_(options), last_query_(find_last_query()) {}

    Status check() const {
        if (messages_.empty()) return refuse("No messages provided.");
        if (!dialect_.strict) return {};
        if (last_query_ == messages_.size()) return refuse("No user query found in messages.");
        for (std::size_t i = 1; i < messages_.size(); ++i)
            if (messages_[i].role == Role::system) return refuse("System message must be at the beginning.");
        return {};
    }

    std::vector<PromptPart> render() {
        for (std::size_t i = 0; i < messages_.size(); ++i) add_message(i);
        if (options_.add_generation_prompt)
            markup(fmt::format("<|im_start|>assistant\n{}", dialect_.reply_opening(options_.thinking)));
        return std::move(parts_);
    }

  private:
    static Error refuse(std::string_view why) {
        return input_error(fmt::format("The model's chat template refuses this conversation: {}", why));
    }

    std::string_view content(const Message& message) const {
        return dialect_.trims ? trim(message.content) : std::string_view(message.content);
    }

    // The last user message that is not the result of a tool; the number of messages if there is none.
    std::size_t find_last_query() const {
        for (std::size_t i = messages_.size(); i-- > 0;) {
            const std::string_view text = content(messages_[i]);
            const bool tool_result = text.starts_with("<tool_response>") && text.ends_with("</tool_response>");
            if (messages_[i].role == Role::user && !tool_result) return i;
        }
        return messages_.size();
    }

    void add_message(std::size_t index) {
        const Message& message = messages_[index];
        switch (message.role) {
            case Role::system: add_turn("system", message); break;
            case Role::user: add_turn("user", message); break;
            case Role::assistant: add_reply(index); break;
        }
    }

    void add_turn(std::string_view role, const Message& message) {
        markup(fmt::format("<|im_start|>{}\n", role));
        text(content(message));
        markup("<|im_end|>\n");
    }

    void add_reply(std::size_t index) {
        const Message& message = messages_[index];
        const Reply reply = split_reply(message, content(message));
        const bool last = index + 1 == messages_.size();
        const bool keeps = (dialect_.keep_old_reasoning && options_.keep_old_reasoning) || index > last_query_;
        markup("<|im_start|>assistant\n");
        if (!message.ids.empty() && replays(message, reply, keeps)) {
            markup(dialect_.reply_opening(message.thinking));
            parts_.push_back({.ids = message.ids});
        } else if (!dialect_.thinking) {
            text(content(message));
        } else if (keeps && (dialect_.always_shows_reasoning || last || !reply.reasoning.empty())) {
            markup(think_open);
            text(dialect_.trims ? trim(reply.reasoning) : trim_left(trim_right(reply.reasoning, '\n'), '\n'));
            markup(think_close);
            text(trim_left(reply.content, '\n'));
        } else {
            text(reply.content);
        }
        markup("<|im_end|>\n");
    }

    // Whether the turn still reads as it did when the reply was generated: nothing of it is dropped now.
    bool replays(const Message& message, const Reply& reply, bool keeps) const {
        return !dialect_.thinking || keeps ||
               (reply.reasoning.empty() && dialect_.reply_opening(message.thinking).empty());
    }

    void markup(std::string_view text) { add(text, true); }
    void text(std::string_view text) { add(text, false); }
    void add(std::string_view text, bool markup) {
        if (!text.empty()) parts_.push_back({std::string(text), markup});
    }

    const ChatDialect& dialect_;
    const std::vector<Message>& messages_;
    const RenderOptions& options_;
    std::size_t last_query_;
    std::vector<PromptPart> parts_;
};

}  // namespace

Result<ChatTemplate> ChatTemplate::detect(std::string_view source) {
    if (source.empty()) return ChatTemplate(&dialects[0]);
    if (!contains(source, "<|im_start|>") || !contains(source, "<|im_end|>"))
        return input_error(
            "The file's chat template is not of the ChatML kind (turns between <|im_start|> and <|im_end|>), the only "
            "one that is supported.");
    for (const ChatDialect& dialect : dialects)
        if (fits(dialect, source)) return ChatTemplate(&dialect);
    return input_error(
        "The file's chat template handles thinking in a way that is not supported (known: Qwen3, Qwen3-Next-Thinking, "
        "Qwen3.5, Qwen3.6).");
}

Result<std::vector<PromptPart>> ChatTemplate::render(const std::vector<Message>& messages,
                                                     const RenderOptions& options) const {
    Renderer renderer(*dialect_, messages, options);
    if (Status status = renderer.check(); !status) return status.error();
    return renderer.render();
}

}  // namespace octavo
