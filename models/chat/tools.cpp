#include "models/chat/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/chat/text_trim.h"

namespace octavo {
namespace {

using Json = nlohmann::ordered_json;

constexpr int max_depth = 64;

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

// Discarded where the text is no JSON, or too deep.
Json parse(std::string_view json) {
    if (nests_too_deeply(json)) return Json(Json::value_t::discarded);
    return Json::parse(json, nullptr, /*allow_exceptions=*/false);
}

std::string scalar_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write(const Json& value, std::string& out) {
    if (!value.is_structured()) {
        out += scalar_text(value);
        return;
    }
    out += value.is_array() ? '[' : '{';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
        if (!first) out += ", ";
        first = false;
        if (value.is_object()) out += scalar_text(key) + ": ";
        write(item, out);
    }
    out += value.is_array() ? ']' : '}';
}

std::string spelled(const Json& value) {
    std::string out;
    write(value, out);
    return out;
}

// As repr() of a string that has nothing unusual in it.
std::string python_quoted(const std::string& text) {
    const bool use_double = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
    std::string out(1, use_double ? '"' : '\'');
    for (const char c : text) {
        if (c == '\\' || (c == '\'' && !use_double)) out += '\\';
        out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : std::string(1, c);
    }
    return out + out[0];
}

// As repr().
std::string python_repr(const Json& value) {
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_null()) return "None";
    if (value.is_string()) return python_quoted(value.get_ref<const std::string&>());
    if (!value.is_structured()) return scalar_text(value);
    std::string out(1, value.is_array() ? '[' : '{');
    for (const auto& [key, item] : value.items()) {
        if (out.size() > 1) out += ", ";
        if (value.is_object()) out += python_quoted(key) + ": ";
        out += python_repr(item);
    }
    return out + (value.is_array() ? ']' : '}');
}

// As str(): a text is itself.
std::string python_text(const Json& value) { return value.is_string() ? value.get<std::string>() : python_repr(value); }

// Structures as JSON, other values as str().
std::string json_or_python_text(const Json& value) {
    return value.is_structured() ? spelled(value) : python_text(value);
}

// Null where `object` is no object or lacks the key.
const Json* find(const Json& object, std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
}

// The description inside {"type": "function", "function": ...}, or the object itself.
const Json& function_of(const Json& tool) {
    const Json* function = find(tool, "function");
    return function ? *function : tool;
}

void add_tag(std::string& out, std::string_view name, std::string_view text) {
    out += fmt::format("\n<{0}>{1}</{0}>", name, text);
}

void add_description(std::string& out, const Json& object) {
    if (const Json* description = find(object, "description"))
        add_tag(out, "description", trim(python_text(*description)));
}

// The keys that have no line of their own.
void add_other_keys(std::string& out, const Json& object, std::initializer_list<std::string_view> handled) {
    if (!object.is_object()) return;
    for (const auto& [key, value] : object.items())
        if (std::find(handled.begin(), handled.end(), key) == handled.end())
            add_tag(out, key, json_or_python_text(value));
}

void add_parameter(std::string& out, const std::string& name, const Json& fields) {
    out += "\n<parameter>";
    add_tag(out, "name", name);
    if (const Json* type = find(fields, "type")) add_tag(out, "type", python_text(*type));
    add_description(out, fields);
    add_other_keys(out, fields, {"name", "type", "description"});
    out += "\n</parameter>";
}

}  // namespace

bool nests_too_deeply(std::string_view json) {
    int depth = 0;
    bool in_text = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_text && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_text = !in_text;
        } else if (!in_text && (c == '[' || c == '{')) {
            if (++depth > max_depth) return true;
        } else if (!in_text && (c == ']' || c == '}')) {
            --depth;
        }
    }
    return false;
}

Result<std::string> template_json(std::string_view json) {
    const Json value = parse(json);
    if (value.is_discarded())
        return input_error(fmt::format("This is no JSON, or JSON that nests deeper than {}.", max_depth));
    return spelled(value);
}

Result<std::vector<std::string>> parse_tools(std::string_view json) {
    const Json list = parse(json);
    if (!list.is_array())
        return input_error(fmt::format("The tools are no JSON array, or nest deeper than {}.", max_depth));
    std::vector<std::string> tools;
    for (const Json& tool : list) {
        const Json* name = find(function_of(tool), "name");
        if (!name || !name->is_string()) return input_error(fmt::format("Tool {} has no name.", tools.size() + 1));
        tools.push_back(spelled(tool));
    }
    return tools;
}

std::string tool_as_xml(const std::string& tool) {
    const Json parsed = parse(tool);
    const Json& function = function_of(parsed);
    std::string out = "<function>";
    if (const Json* name = find(function, "name")) add_tag(out, "name", python_text(*name));
    add_description(out, function);
    out += "\n<parameters>";
    if (const Json* parameters = find(function, "parameters")) {
        if (const Json* properties = find(*parameters, "properties"); properties && properties->is_object())
            for (const auto& [name, fields] : properties->items()) add_parameter(out, name, fields);
        add_other_keys(out, *parameters, {"type", "properties"});
    }
    out += "\n</parameters>";
    add_other_keys(out, function, {"type", "name", "description", "parameters"});
    return out + "\n</function>";
}

std::optional<std::vector<ToolArgument>> tool_arguments(std::string_view arguments, bool python_scalars) {
    const Json object = parse(arguments);
    if (!object.is_object()) return std::nullopt;
    std::vector<ToolArgument> list;
    for (const auto& [name, value] : object.items()) {
        const bool plain = value.is_string() || python_scalars;
        list.push_back({name, plain ? json_or_python_text(value) : spelled(value)});
    }
    return list;
}

std::string arguments_json(const std::vector<ToolArgument>& arguments) {
    Json object = Json::object();
    for (const ToolArgument& argument : arguments) object[argument.name] = parse(argument.value);
    return spelled(object);
}

std::optional<ToolCall> parse_json_call(std::string_view json) {
    const Json call = parse(json);
    const Json* name = find(call, "name");
    const Json* arguments = find(call, "arguments");
    if (!name || !name->is_string()) return std::nullopt;
    if (!arguments) return ToolCall{*name, "{}"};
    // Some models write the object as text.
    const Json inner = arguments->is_string() ? parse(arguments->get_ref<const std::string&>()) : *arguments;
    if (!inner.is_object()) return std::nullopt;
    return ToolCall{*name, spelled(inner)};
}

std::string argument_json(const std::vector<std::string>& tools, std::string_view tool, std::string_view parameter,
                          std::string_view text) {
    for (const std::string& description : tools) {
        const Json parsed = parse(description);
        const Json& function = function_of(parsed);
        const Json* name = find(function, "name");
        if (!name || *name != tool) continue;
        const Json* parameters = find(function, "parameters");
        const Json* properties = parameters ? find(*parameters, "properties") : nullptr;
        const Json* fields = properties ? find(*properties, parameter) : nullptr;
        const Json* type = fields ? find(*fields, "type") : nullptr;
        if (!type || *type == "string") break;
        if (text == "True" || text == "False") return text == "True" ? "true" : "false";
        if (text == "None") return "null";
        const Json value = parse(fmt::format("[{}]", text));  // it will lie in an object
        if (value.is_array() && value.size() == 1) return spelled(value[0]);
    }
    return scalar_text(Json(text));
}

}  // namespace octavo
