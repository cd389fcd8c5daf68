// A chat dialect is data: how a family's template writes turns, thinking, tools and calls, and what it refuses.
//
// Threads: plain data; find_dialect is pure.
#pragma once

#include <string>
#include <string_view>

#include "kernels/base/error.h"

namespace octavo {

enum class CallStyle {
    none,
    json,  // {"name": "f", "arguments": {...}} between <tool_call> and </tool_call>
    xml,   // <function=f><parameter=p>...</parameter></function>, each on lines of its own, between the same tags
};

struct ChatDialect {
    std::string_view name;
    bool thinking = false;  // has <think> blocks
    // What follows the opening of the assistant's turn in a generation prompt.
    std::string_view opening = {};
    std::string_view opening_without_thinking = {};
    bool trims = false;                   // white space around every message goes
    bool always_shows_reasoning = false;  // after the last question even an empty block is written
    bool keep_old_reasoning = false;      // has the option
    bool strict = false;                  // refuses a second system message and a conversation without a question
    bool refuses_null = false;            // an assistant's content must be text
    CallStyle calls = CallStyle::none;
    bool lists_tools_as_xml = false;                     // else a line of JSON each
    bool lists_tools_first = false;                      // before the text of the system message, not after it
    bool python_scalars = false;                         // xml: True, False and None in arguments, not JSON
    bool trims_before_calls = false;                     // white space around the content goes where calls follow
    bool opens_first_tool_results = true;                // false: not those that are the first turn
    std::string_view results_open = "<|im_start|>user";  // a turn of tool results
    std::string_view result_open = "\n<tool_response>\n";
    std::string_view result_close = "\n</tool_response>";

    bool can_switch_thinking() const { return opening != opening_without_thinking; }
    std::string_view reply_opening(bool with_thinking) const {
        return with_thinking ? opening : opening_without_thinking;
    }
    // Whether a reply starts inside a thinking block that the prompt has opened.
    bool starts_in_reasoning(bool with_thinking) const { return reply_opening(with_thinking) == "<think>\n"; }
};

// What a template says about tools, in its own words; all empty where it has no tools.
struct ToolTexts {
    std::string default_system;  // stands where there are tools and no system message
    std::string intro;           // ends with "<tools>"
    std::string outro;           // begins with "\n</tools>"
};

struct FoundDialect {
    const ChatDialect* dialect = nullptr;
    ToolTexts texts;
    std::string note;  // a sentence where the template is none that is known and ChatML stands in for it
};

// From a template's text; empty means plain ChatML.
FoundDialect find_dialect(std::string_view source);

}  // namespace octavo
