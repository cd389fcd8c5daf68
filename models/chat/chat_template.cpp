#include "models/chat/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "models/chat/text_trim.h"
#include "models/chat/tools.h"

namespace octavo {
namespace {

constexpr std::string_view think_open = "<think>\n";
constexpr std::string_view think_close = "\n</think>\n\n";

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

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
    Renderer(const FoundDialect& found, const std::vector<Message>& messages, const RenderOptions& options)
        : dialect_(*found.dialect),
          texts_(found.texts),
          messages_(messages),
          options_(options),
          last_query_(find_last_query()) {}

    Status check() const {
        if (messages_.empty()) return refuse("No messages provided.");
        const bool calls = std::any_of(messages_.begin(), messages_.end(),
                                       [](const Message& m) { return m.role == Role::tool || !m.calls.empty(); });
        if (dialect_.calls == CallStyle::none && (calls || !options_.tools.empty()))
            return refuse("it has no place for tools.");
        if (!options_.tools.empty() && texts_.intro.empty())
            return refuse("what it says about tools could not be found.");
        for (const Message& message : messages_)
            if (!message.has_content && dialect_.refuses_null) return refuse("a message's content is null.");
        if (!dialect_.strict) return {};
        if (last_query_ == messages_.size()) return refuse("No user query found in messages.");
        for (std::size_t i = 1; i < messages_.size(); ++i)
            if (messages_[i].role == Role::system) return refuse("System message must be at the beginning.");
        return {};
    }

    Status render() {
        const bool has_system = messages_[0].role == Role::system;
        if (!options_.tools.empty()) add_tools(has_system ? &messages_[0] : nullptr);
        for (std::size_t i = has_system && !options_.tools.empty() ? 1 : 0; i < messages_.size(); ++i)
            if (Status status = add_message(i); !status) return status;
        if (options_.add_generation_prompt)
            markup(fmt::format("<|im_start|>assistant\n{}", dialect_.reply_opening(options_.thinking)));
        return {};
    }

    std::vector<PromptPart> take() { return std::move(parts_); }

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

    // The system turn that lists the tools, with the text of `system` (null: there is none) before or after them.
    void add_tools(const Message* system) {
        const std::string_view given = system ? content(*system) : texts_.default_system;
        markup("<|im_start|>system\n");
        if (!dialect_.lists_tools_first) {
            text(given);
            // An intro that is its own paragraph already needs no empty line before it.
            if (!texts_.intro.starts_with('\n') && system) markup("\n\n");
        }
        markup(texts_.intro);
        for (const std::string& tool : options_.tools) {
            text("\n");
            text(dialect_.lists_tools_as_xml ? tool_as_xml(tool) : tool);
        }
        markup(texts_.outro);
        if (dialect_.lists_tools_first && !given.empty()) {
            text("\n\n");
            text(given);
        }
        markup("<|im_end|>\n");
    }

    Status add_message(std::size_t index) {
        const Message& message = messages_[index];
        switch (message.role) {
            case Role::system: add_turn("system", message); break;
            case Role::user: add_turn("user", message); break;
            case Role::assistant: return add_reply(index);
            case Role::tool: add_result(index); break;
        }
        return {};
    }

    void add_turn(std::string_view role, const Message& message) {
        markup(fmt::format("<|im_start|>{}\n", role));
        text(content(message));
        markup("<|im_end|>\n");
    }

    Status add_reply(std::size_t index) {
        const Message& message = messages_[index];
        const Reply reply = split_reply(message, content(message));
        const bool last = index + 1 == messages_.size();
        const bool keeps = (dialect_.keep_old_reasoning && options_.keep_old_reasoning) || index > last_query_;
        markup("<|im_start|>assistant\n");
        if (!message.ids.empty() && replays(message, reply, keeps)) {
            markup(dialect_.reply_opening(message.thinking));
            parts_.push_back({.ids = message.ids});
            markup("<|im_end|>\n");
            return {};
        }
        std::string_view said = dialect_.thinking ? reply.content : content(message);
        const bool after_content = !(dialect_.calls == CallStyle::xml ? trim(said) : said).empty();
        if (dialect_.thinking && keeps && (dialect_.always_shows_reasoning || last || !reply.reasoning.empty())) {
            markup(think_open);
            text(dialect_.trims ? trim(reply.reasoning) : trim_left(trim_right(reply.reasoning, '\n'), '\n'));
            markup(think_close);
            said = trim_left(said, '\n');
        }
        if (dialect_.trims_before_calls && !message.calls.empty()) said = trim(said);
        text(said);
        if (Status status = add_calls(message, after_content); !status) return status;
        markup("<|im_end|>\n");
        return {};
    }

    // Whether the turn still reads as it did when the reply was generated: nothing of it is dropped now.
    bool replays(const Message& message, const Reply& reply, bool keeps) const {
        return !dialect_.thinking || keeps ||
               (reply.reasoning.empty() && dialect_.reply_opening(message.thinking).empty());
    }

    Status add_calls(const Message& message, bool after_content) {
        const bool xml = dialect_.calls == CallStyle::xml;
        for (const ToolCall& call : message.calls) {
            const bool first = &call == &message.calls.front();
            if (!first) {
                markup("\n");
            } else if (after_content) {
                markup(xml ? "\n\n" : "\n");
            }
            markup("<tool_call>\n");
            if (!xml) {
                add_json_call(call);
            } else if (!add_xml_call(call)) {
                return refuse(fmt::format("the arguments of the call of '{}' are no JSON object.", call.name));
            }
            markup("\n</tool_call>");
        }
        return {};
    }

    void add_json_call(const ToolCall& call) {
        text(fmt::format(R"({{"name": "{}", "arguments": {}}})", call.name, call.arguments));
    }

    bool add_xml_call(const ToolCall& call) {
        const auto arguments = tool_arguments(call.arguments, dialect_.python_scalars);
        if (!arguments) return false;
        text(fmt::format("<function={}>\n", call.name));
        for (const ToolArgument& argument : *arguments)
            text(fmt::format("<parameter={}>\n{}\n</parameter>\n", argument.name, argument.value));
        text("</function>");
        return true;
    }

    // Consecutive results share one user turn.
    void add_result(std::size_t index) {
        const auto is_result = [&](std::size_t i) { return i < messages_.size() && messages_[i].role == Role::tool; };
        // Qwen3-Coder's template counts from the first message that is not the system's.
        const std::size_t first = dialect_.lists_tools_as_xml && messages_[0].role == Role::system ? 1 : 0;
        const bool opens = index == first ? dialect_.opens_first_tool_results : !is_result(index - 1);
        if (opens) markup(dialect_.results_open);
        markup(dialect_.result_open);
        text(content(messages_[index]));
        markup(dialect_.result_close);
        if (!is_result(index + 1)) markup("<|im_end|>\n");
    }

    void markup(std::string_view text) { add(text, true); }
    void text(std::string_view text) { add(text, false); }
    void add(std::string_view text, bool markup) {
        if (!text.empty()) parts_.push_back({std::string(text), markup});
    }

    const ChatDialect& dialect_;
    const ToolTexts& texts_;
    const std::vector<Message>& messages_;
    const RenderOptions& options_;
    std::size_t last_query_;
    std::vector<PromptPart> parts_;
};

}  // namespace

Result<std::vector<PromptPart>> ChatTemplate::render(const std::vector<Message>& messages,
                                                     const RenderOptions& options) const {
    Renderer renderer(found_, messages, options);
    if (Status status = renderer.check(); !status) return status.error();
    if (Status status = renderer.render(); !status) return status.error();
    return renderer.take();
}

}  // namespace octavo
