// Descriptions of tools, and JSON as chat templates write it: with ", " and ": ", in the order of the source, and
// without escapes for other scripts.
//
// Errors: one sentence. Nesting is bounded, so hostile JSON cannot exhaust the stack. Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "models/chat/message.h"

namespace octavo {

// Whether JSON nests so deeply that writing it could exhaust the stack.
bool nests_too_deeply(std::string_view json);

// JSON in the spelling of templates.
Result<std::string> template_json(std::string_view json);

// The tools of an array of {"type": "function", "function": {"name", "description", "parameters"}} or of the inner
// objects alone: each as JSON text in the spelling of templates. No array, or one with nameless tools, is refused.
Result<std::vector<std::string>> parse_tools(std::string_view json);

// A tool as the lines of XML that Qwen3-Coder's template writes, without a newline at the end.
std::string tool_as_xml(const std::string& tool);

// The arguments of a call as pairs of names and texts: strings as they are, other values as JSON or, where
// `python_scalars`, numbers and the like as Python spells them. No value: `arguments` is no JSON object.
struct ToolArgument {
    std::string name;
    std::string value;
};
std::optional<std::vector<ToolArgument>> tool_arguments(std::string_view arguments, bool python_scalars);

// The same the other way: values as JSON each. Of two of the same name the last one counts.
std::string arguments_json(const std::vector<ToolArgument>& arguments);

// {"name": "f", "arguments": {...}}; no value: this is no such call.
std::optional<ToolCall> parse_json_call(std::string_view json);

// What a parameter's text means by the schema of the tool among `tools`: text stays text, unless the schema says that
// it is something else and it reads as that. Gives JSON.
std::string argument_json(const std::vector<std::string>& tools, std::string_view tool, std::string_view parameter,
                          std::string_view text);

}  // namespace octavo
