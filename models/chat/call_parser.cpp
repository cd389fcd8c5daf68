#include "models/chat/call_parser.h"

#include <fmt/format.h>

#include "models/chat/text_trim.h"
#include "models/chat/tools.h"

namespace octavo {
namespace {

constexpr std::string_view function_open = "<function=";
constexpr std::string_view function_close = "</function>";
constexpr std::string_view parameter_open = "<parameter=";
constexpr std::string_view parameter_close = "</parameter>";

// Takes `part` from the front of `text`, with the white space before it.
bool take(std::string_view& text, std::string_view part) {
    const std::string_view trimmed = trim_left(text);
    if (!trimmed.starts_with(part)) return false;
    text = trimmed.substr(part.size());
    return true;
}

// The name up to '>'.
std::optional<std::string_view> take_name(std::string_view& text) {
    const std::size_t end = text.find('>');
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(end + 1);
    return name;
}

bool starts_with_tag(std::string_view text) {
    text = trim_left(text);
    return text.starts_with(parameter_open) || text.starts_with(function_close);
}

// The value up to the </parameter> that another tag follows: a value may hold such tags itself. One newline at either
// end belongs to the tags.
std::optional<std::string_view> take_value(std::string_view& text) {
    for (std::size_t end = text.find(parameter_close); end != std::string_view::npos;
         end = text.find(parameter_close, end + 1)) {
        const std::string_view rest = text.substr(end + parameter_close.size());
        if (!starts_with_tag(rest)) continue;
        std::string_view value = text.substr(0, end);
        if (value.starts_with('\n')) value.remove_prefix(1);
        if (value.ends_with('\n')) value.remove_suffix(1);
        text = rest;
        return value;
    }
    return std::nullopt;
}

std::optional<ToolCall> parse_xml_call(std::string_view text, const std::vector<std::string>& tools) {
    if (!take(text, function_open)) return std::nullopt;
    const auto function = take_name(text);
    if (!function) return std::nullopt;
    std::vector<ToolArgument> arguments;
    while (take(text, parameter_open)) {
        const auto name = take_name(text);
        const auto value = name ? take_value(text) : std::nullopt;
        if (!value) return std::nullopt;
        arguments.push_back({std::string(*name), argument_json(tools, *function, *name, *value)});
    }
    if (!take(text, function_close) || !trim(text).empty()) return std::nullopt;
    return ToolCall{std::string(*function), arguments_json(arguments)};
}

}  // namespace

std::optional<ToolCall> parse_tool_call(std::string_view text, const std::vector<std::string>& tools) {
    const std::string_view call = trim(text);
    return call.starts_with('{') ? parse_json_call(call) : parse_xml_call(call, tools);
}

}  // namespace octavo
