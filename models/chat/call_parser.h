// One tool call as a model writes it between <tool_call> and </tool_call>, in either style:
//   {"name": "f", "arguments": {"p": 1}}
//   <function=f> <parameter=p> 1 </parameter> </function>
//
// Threads: pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat/message.h"

namespace octavo {

// `tools` (JSON each) say what the texts of XML parameters mean. No value: this is no call.
std::optional<ToolCall> parse_tool_call(std::string_view text, const std::vector<std::string>& tools);

}  // namespace octavo
