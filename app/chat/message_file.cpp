#include "app/chat/message_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/chat/conversation.h"
#include "app/text_file.h"
#include "models/chat/tools.h"

namespace octavo {
namespace {

using Json = nlohmann::ordered_json;  // the arguments of calls keep their order

struct RoleName {
    Role role;
    const char* name;
};
constexpr RoleName kRoles[] = {
    {Role::system, "system"}, {Role::user, "user"}, {Role::assistant, "assistant"}, {Role::tool, "tool"}};

Error bad_messages(const std::string& why) {
    return {ErrorKind::input, fmt::format("the messages are not usable: {}.", why)};
}

// {"function": {"name", "arguments"}} or the inner object alone; the arguments are an object, or text that holds one.
Result<ToolCall> parse_call(const Json& json, size_t number) {
    const Json& function = json.is_object() && json.contains("function") ? json["function"] : json;
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
        return bad_messages(fmt::format("message {} has a tool call without a name", number));
    const Json arguments = function.value("arguments", Json::object());
    if (arguments.is_string()) return ToolCall{function["name"], arguments};
    const Result<std::string> text = template_json(arguments.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!text) return text.error();
    return ToolCall{function["name"], *text};
}

// Where the documents at the start of a question end; 0 where the file does not say, or names a place where none does.
size_t attached_bytes_of(const Json& json, const std::string& content) {
    const auto found = json.find("attached_bytes");
    if (found == json.end() || !found->is_number_unsigned()) return 0;
    const uint64_t bytes = found->get<uint64_t>();
    if (bytes > content.size()) return 0;
    const std::string_view rest = std::string_view(content).substr(bytes);
    return rest.empty() || rest.starts_with(kAfterDocument) ? static_cast<size_t>(bytes) : 0;
}

Result<Message> parse_message(const Json& json, size_t number) {
    const auto text = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (!json.is_object()) return bad_messages(fmt::format("message {} is not an object", number));
    if (!json.contains("content") || !(json["content"].is_string() || json["content"].is_null()))
        return bad_messages(fmt::format("message {} has no text in 'content'", number));
    Message message = {
        .content = text("content"), .reasoning = text("reasoning_content"), .has_content = json["content"].is_string()};
    if (text("role") == "user") message.attached_bytes = attached_bytes_of(json, message.content);
    const Json calls = json.value("tool_calls", Json());
    if (!calls.is_null() && !calls.is_array())
        return bad_messages(fmt::format("message {} has 'tool_calls' that are no array", number));
    for (const Json& entry : calls) {
        Result<ToolCall> call = parse_call(entry, number);
        if (!call) return call.error();
        message.calls.push_back(std::move(*call));
    }
    for (const RoleName& role : kRoles) {
        if (text("role") != role.name) continue;
        message.role = role.role;
        return message;
    }
    return bad_messages(fmt::format("message {} has the role '{}', which is none of system, user, assistant, tool",
                                    number, text("role")));
}

}  // namespace

Result<std::vector<Message>> parse_messages(const std::string& json_text) {
    if (nests_too_deeply(json_text)) return bad_messages("the JSON nests too deeply");
    const Json json = Json::parse(json_text, nullptr, false);
    if (json.is_discarded()) return bad_messages("the file is not JSON");
    const Json list = json.is_object() ? json.value("messages", Json()) : json;
    if (!list.is_array()) return bad_messages("there is no array of messages");
    std::vector<Message> messages;
    for (const Json& entry : list) {
        Result<Message> message = parse_message(entry, messages.size() + 1);
        if (!message) return message.error();
        messages.push_back(std::move(*message));
    }
    return messages;
}

Status check_messages_target(const std::string& file) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored) || std::filesystem::is_empty(file, ignored)) return {};
    std::ifstream in(file, std::ios::binary);
    const nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
    if (json.is_object() && json.contains("messages")) return {};
    return Error{
        ErrorKind::usage,
        fmt::format("{} exists and is not a saved conversation, so it is not overwritten: name another file.", file)};
}

std::string messages_json(const std::vector<Message>& messages) {
    Json list = Json::array();
    for (const Message& message : messages) {
        Json entry = {{"role", kRoles[static_cast<size_t>(message.role)].name}, {"content", message.content}};
        if (!message.has_content) entry["content"] = nullptr;
        if (message.attached_bytes > 0) entry["attached_bytes"] = message.attached_bytes;
        if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
        for (const ToolCall& call : message.calls) {
            const Json function = {{"name", call.name}, {"arguments", call.arguments}};
            entry["tool_calls"].push_back({{"type", "function"}, {"function", function}});
        }
        list.push_back(std::move(entry));
    }
    return Json{{"messages", list}}.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<std::string>> read_tools_file(const std::string& file) {
    if (file.empty()) return std::vector<std::string>();
    const Result<std::string> json = read_text_file(file);
    if (!json) return json.error();
    return parse_tools(*json);
}

}  // namespace octavo
