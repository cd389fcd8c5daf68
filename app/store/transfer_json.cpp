// The JSON side of transfer.h.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "app/chat/message_file.h"
#include "app/store/message_tree.h"
#include "app/store/reply_figures.h"
#include "app/store/title.h"
#include "app/store/transfer.h"
#include "app/text_file.h"

namespace octavo {
namespace {

using nlohmann::json;

constexpr const char* kMark = "octavo_conversations";
constexpr int kVersion = 1;

// ---- out

// JSON holds UTF-8 only; a model may have generated something else.
json text_json(const std::string& text) {
    const bool plain = find_invalid_utf8(text) == std::string::npos;
    if (plain) return text;
    std::string hexadecimal;
    for (const char c : text) hexadecimal += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return {{"bytes", hexadecimal}};
}

json settings_json(const Settings& settings) {
    json object = json::object();
    for (const auto& [key, value] : settings.values()) {
        json parsed = json::parse(value, nullptr, false);
        if (!parsed.is_discarded()) object[key] = std::move(parsed);
    }
    return object;
}

json message_json(const StoredMessage& message, std::map<std::string, size_t>& files) {
    json object = {{"id", message.id},
                   {"parent", message.parent_id},
                   {"shown", message.shown_child_id},
                   {"role", role_name(message.role)},
                   {"state", message_state_name(message.state)},
                   {"text", text_json(message.text)},
                   {"created_ms", message.created_ms}};
    if (!message.attachments.empty()) object["attachments"] = json::array();
    for (const Attachment& attachment : message.attachments) {
        const size_t place = files.emplace(attachment.text, files.size()).first->second;
        object["attachments"].push_back({{"name", text_json(attachment.name)}, {"file", place}});
    }
    if (message.role != Role::assistant) return object;
    object["thinking"] = text_json(message.thinking);
    object["ids"] = message.ids;
    object["with_thinking"] = message.with_thinking;
    object["figures"] = json::parse(figures_json(message.figures));
    return object;
}

json conversation_json(const StoredConversation& conversation) {
    const ConversationSummary& head = conversation.summary;
    std::map<std::string, size_t> files;  // place by text
    json messages = json::array();
    for (const StoredMessage& message : conversation.messages) messages.push_back(message_json(message, files));
    json texts = json::array();
    texts.get_ref<json::array_t&>().resize(files.size());
    for (const auto& [text, place] : files) texts[place] = text_json(text);
    return {{"title", text_json(head.title)},
            {"titled_by_person", head.titled_by_person},
            {"created_ms", head.created_ms},
            {"updated_ms", head.updated_ms},
            {"settings", settings_json(conversation.settings)},
            {"shown_root", conversation.shown_root_id},
            {"files", std::move(texts)},
            {"messages", std::move(messages)}};
}

// ---- in

Error bad_file(const std::string& why) {
    return {ErrorKind::input, fmt::format("The file has no conversations that can be read: {}.", why)};
}

// Deeper values are left out: what takes them apart would run out of stack.
json parse_bounded(std::string_view text) {
    constexpr int kMaxDepth = 64;
    return json::parse(
        text, [](int depth, json::parse_event_t, json&) { return depth <= kMaxDepth; }, false);
}

// Values of an object that may be missing or of another type.
template <class T>
T get_or(const json& object, const char* key, T otherwise, bool (json::*is_type)() const noexcept) {
    const auto found = object.find(key);
    return found != object.end() && ((*found).*is_type)() ? found->template get<T>() : otherwise;
}
int64_t integer_of(const json& object, const char* key) {
    return get_or<int64_t>(object, key, 0, &json::is_number_integer);
}
bool flag_of(const json& object, const char* key, bool otherwise) {
    return get_or<bool>(object, key, otherwise, &json::is_boolean);
}

std::optional<std::string> from_hexadecimal(const std::string& digits) {
    const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    if (digits.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    for (size_t i = 0; i < digits.size(); i += 2) {
        const int high = value(digits[i]), low = value(digits[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
    }
    return bytes;
}

std::optional<std::string> text_from(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_object() || !value.contains("bytes") || !value["bytes"].is_string()) return std::nullopt;
    return from_hexadecimal(value["bytes"].get<std::string>());
}
std::string text_or_empty(const json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? std::string() : text_from(*found).value_or("");
}

// The list at `key`; an empty one where there is none.
const json& list_of(const json& object, const char* key) {
    static const json kEmpty = json::array();
    const auto found = object.find(key);
    return found != object.end() && found->is_array() ? *found : kEmpty;
}

Result<Attachment> attachment_from(const json& object, const json& files) {
    const int64_t place = object.is_object() ? get_or<int64_t>(object, "file", -1, &json::is_number_integer) : -1;
    if (place < 0 || place >= static_cast<int64_t>(files.size())) return bad_file("an attachment names no file of it");
    const std::optional<std::string> text = text_from(files[static_cast<size_t>(place)]);
    if (!text) return bad_file("a file among its attachments is no text");
    return Attachment{text_or_empty(object, "name"), *text};
}

Result<StoredMessage> message_from(const json& object, const json& files) {
    if (!object.is_object()) return bad_file("a message is not an object");
    StoredMessage message;
    message.id = integer_of(object, "id");
    message.parent_id = integer_of(object, "parent");
    message.shown_child_id = integer_of(object, "shown");
    message.created_ms = integer_of(object, "created_ms");
    const std::string role = text_or_empty(object, "role");
    if (!parse_role(role, message.role)) return bad_file(fmt::format("a message has the unknown role '{}'", role));
    const std::string state = text_or_empty(object, "state");
    if (!state.empty() && !parse_message_state(state, message.state))
        return bad_file(fmt::format("a message has the unknown state '{}'", state));
    const auto text = object.find("text");
    const std::optional<std::string> content = text == object.end() ? std::nullopt : text_from(*text);
    if (!content) return bad_file(fmt::format("message {} has no text", message.id));
    message.text = *content;
    message.thinking = text_or_empty(object, "thinking");
    message.with_thinking = flag_of(object, "with_thinking", true);
    for (const json& id : list_of(object, "ids")) {
        const int64_t value = id.is_number_integer() ? id.get<int64_t>() : -1;
        if (value != static_cast<int32_t>(value) || !id.is_number_integer())
            return bad_file(fmt::format("message {} has a token id that is no 32-bit number", message.id));
        message.ids.push_back(static_cast<int32_t>(value));
    }
    if (object.contains("figures")) parse_figures(object["figures"].dump(), message.figures);
    for (const json& entry : list_of(object, "attachments")) {
        const Result<Attachment> attachment = attachment_from(entry, files);
        if (!attachment) return attachment.error();
        message.attachments.push_back(*attachment);
    }
    return message;
}

Result<StoredConversation> conversation_from(const json& object) {
    if (!object.is_object() || !object.contains("messages") || !object["messages"].is_array())
        return bad_file("a conversation has no list of messages");
    StoredConversation conversation;
    conversation.summary.title = text_or_empty(object, "title");
    conversation.summary.titled_by_person = flag_of(object, "titled_by_person", false);
    conversation.summary.created_ms = integer_of(object, "created_ms");
    conversation.summary.updated_ms = integer_of(object, "updated_ms");
    conversation.shown_root_id = integer_of(object, "shown_root");
    if (object.contains("settings") && object["settings"].is_object())
        for (const auto& [key, value] : object["settings"].items()) conversation.settings.set_json(key, value.dump());
    std::unordered_set<int64_t> ids;
    for (const json& entry : object["messages"]) {
        Result<StoredMessage> message = message_from(entry, list_of(object, "files"));
        if (!message) return message.error();
        if (!ids.contains(message->parent_id)) message->parent_id = 0;  // of a damaged conversation
        if (message->id <= 0 || !ids.insert(message->id).second)
            return bad_file(fmt::format("two messages have the id {}, or it is not positive", message->id));
        conversation.messages.push_back(std::move(*message));
    }
    return conversation;
}

// Messages without ids: one after the other.
Result<std::vector<StoredConversation>> from_message_file(std::string_view text) {
    const Result<std::vector<Message>> messages = parse_messages(std::string(text));
    if (!messages) return messages.error();
    StoredConversation conversation;
    for (const Message& message : *messages) {
        if (message.role == Role::system && conversation.messages.empty()) {
            conversation.settings.set_text("system_prompt", message.content);
            continue;
        }
        StoredMessage stored = stored_message(message, static_cast<int64_t>(conversation.messages.size()));
        stored.id = stored.parent_id + 1;
        conversation.messages.push_back(std::move(stored));
    }
    conversation.summary.title = title_of(conversation);
    return std::vector<StoredConversation>{std::move(conversation)};
}

}  // namespace

std::string conversations_to_json(const std::vector<StoredConversation>& conversations) {
    json list = json::array();
    for (const StoredConversation& conversation : conversations) list.push_back(conversation_json(conversation));
    return json{{kMark, kVersion}, {"conversations", std::move(list)}}.dump(1);
}

Result<std::vector<StoredConversation>> conversations_from_json(std::string_view text) {
    const json file = parse_bounded(text);
    if (file.is_discarded()) return bad_file("it is not JSON");
    if (!file.is_object() || !file.contains(kMark)) return from_message_file(text);
    if (integer_of(file, kMark) != kVersion)
        return bad_file(fmt::format("it is of version {}, and this Octavo knows {}", file[kMark].dump(), kVersion));
    std::vector<StoredConversation> conversations;
    for (const json& entry : list_of(file, "conversations")) {
        Result<StoredConversation> conversation = conversation_from(entry);
        if (!conversation) return conversation.error();
        conversations.push_back(std::move(*conversation));
    }
    return conversations;
}

}  // namespace octavo
