#include "app/chat/message_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace octavo {
namespace {

struct RoleName {
    Role role;
    const char* name;
};
constexpr RoleName kRoles[] = {{Role::system, "system"}, {Role::user, "user"}, {Role::assistant, "assistant"}};

Error bad_messages(const std::string& why) {
    return {ErrorKind::input, fmt::format("the messages are not usable: {}.", why)};
}

Result<Message> parse_message(const nlohmann::json& json, size_t number) {
    const auto text = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (!json.is_object()) return bad_messages(fmt::format("message {} is not an object", number));
    for (const char* unsupported : {"tool_calls", "tool_call_id"})
        if (json.contains(unsupported))
            return bad_messages(
                fmt::format("message {} has '{}', and tools are not supported yet", number, unsupported));
    if (!json.contains("content") || !json["content"].is_string())
        return bad_messages(fmt::format("message {} has no text in 'content'", number));
    for (const RoleName& role : kRoles)
        if (text("role") == role.name) return Message{role.role, text("content"), text("reasoning_content")};
    return bad_messages(
        fmt::format("message {} has the role '{}', which is none of system, user, assistant", number, text("role")));
}

}  // namespace

Result<std::vector<Message>> parse_messages(const std::string& json_text) {
    const nlohmann::json json = nlohmann::json::parse(json_text, nullptr, false);
    if (json.is_discarded()) return bad_messages("the file is not JSON");
    const nlohmann::json list = json.is_object() ? json.value("messages", nlohmann::json()) : json;
    if (!list.is_array()) return bad_messages("there is no array of messages");
    std::vector<Message> messages;
    for (const nlohmann::json& entry : list) {
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
    nlohmann::json list = nlohmann::json::array();
    for (const Message& message : messages) {
        nlohmann::json entry = {{"role", kRoles[static_cast<size_t>(message.role)].name}, {"content", message.content}};
        if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
        list.push_back(std::move(entry));
    }
    return nlohmann::json{{"messages", list}}.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace octavo
