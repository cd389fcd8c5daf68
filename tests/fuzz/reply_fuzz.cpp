// Any bytes as a reply that comes in pieces, as a chat template, as tools and as calls. In pieces a reply gives what it
// gives as a whole; calls that are found render again; nothing crashes or hangs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat/chat_template.h"
#include "models/chat/reply_parser.h"
#include "models/chat/tools.h"
#include "models/tokenizer/utf8.h"

namespace {

using namespace octavo;

void require(bool holds) {
    if (!holds) __builtin_trap();
}

constexpr ChatDialect dialects[] = {
    {.name = "plain", .calls = CallStyle::json},
    {.name = "opened",
     .thinking = true,
     .opening = "<think>\n",
     .opening_without_thinking = "<think>\n\n</think>\n\n",
     .calls = CallStyle::xml},
    {.name = "unopened", .thinking = true},
};

const std::vector<std::string>& tools() {
    static const std::vector<std::string> list = {
        R"({"name": "f", "parameters": {"properties": {"s": {"type": "string"}, "i": {"type": "integer"}}}})"};
    return list;
}

void check_reply(const ChatDialect& dialect, std::string_view text, std::size_t step) {
    const ReplyDelta whole = parse_reply(dialect, true, text, tools());
    ReplyParser parser(dialect, true, tools());
    ReplyDelta pieces;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(text.size(), at + step);
        while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;  // whole characters only
        pieces.add(parser.feed(text.substr(at, end - at)));
        at = end;
    }
    pieces.add(parser.finish());
    require(pieces.content == whole.content && pieces.reasoning == whole.reasoning && pieces.calls == whole.calls);
    for (const ToolCall& call : whole.calls) require(tool_arguments(call.arguments, true).has_value());
}

void check_template(std::string_view text) {
    const ChatTemplate chat = ChatTemplate::detect(text);
    const std::vector<Message> messages = {
        {Role::user, std::string(text)},
        {.role = Role::assistant, .content = std::string(text), .calls = {{"f", std::string(text)}}},
        {Role::tool, std::string(text)}};
    const auto parts = chat.render(messages, {.tools = tools()});
    require(parts || !parts.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    std::string reply(text);  // a reply is always UTF-8
    if (!is_valid_utf8(reply))
        for (char& c : reply) c &= 0x7F;
    check_reply(dialects[data[0] % 3], reply, 1 + data[1] % 16);
    check_template(text);
    if (const auto list = parse_tools(text))
        for (const std::string& tool : *list) (void)tool_as_xml(tool);
    return 0;
}
