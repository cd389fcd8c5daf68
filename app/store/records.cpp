#include "app/store/records.h"

namespace octavo {
namespace {

template <class Value>
struct Name {
    Value value;
    std::string_view name;
};
constexpr Name<MessageState> kStates[] = {{MessageState::complete, "complete"},
                                          {MessageState::streaming, "streaming"},
                                          {MessageState::stopped, "stopped"},
                                          {MessageState::failed, "failed"}};
constexpr Name<Role> kRoles[] = {
    {Role::system, "system"}, {Role::user, "user"}, {Role::assistant, "assistant"}, {Role::tool, "tool"}};

template <class Value, size_t count>
std::string_view name_of(const Name<Value> (&names)[count], Value value) {
    for (const Name<Value>& entry : names)
        if (entry.value == value) return entry.name;
    return "";
}

template <class Value, size_t count>
bool parse(const Name<Value> (&names)[count], std::string_view name, Value& value) {
    for (const Name<Value>& entry : names)
        if (entry.name == name) {
            value = entry.value;
            return true;
        }
    return false;
}

}  // namespace

std::string_view message_state_name(MessageState state) { return name_of(kStates, state); }
std::string_view role_name(Role role) { return name_of(kRoles, role); }
bool parse_message_state(std::string_view name, MessageState& state) { return parse(kStates, name, state); }
bool parse_role(std::string_view name, Role& role) { return parse(kRoles, name, role); }

}  // namespace octavo
