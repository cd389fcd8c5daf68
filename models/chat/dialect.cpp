#include "models/chat/dialect.h"

#include <vector>

#include "models/chat/template_literals.h"

namespace octavo {
namespace {

constexpr std::string_view think_open = "<think>\n";
constexpr std::string_view think_empty = "<think>\n\n</think>\n\n";

constexpr ChatDialect dialects[] = {
    // Pocket
    {.name = "chatml"},
    // Qwen3-Next-Instruct
    {.name = "qwen3-instruct", .calls = CallStyle::json},
    // Qwen3: the model opens the block itself
    {.name = "qwen3",
     .thinking = true,
     .opening_without_thinking = think_empty,
     .refuses_null = true,
     .calls = CallStyle::json},
    // Qwen3-Next-Thinking
    {.name = "qwen3-thinking",
     .thinking = true,
     .opening = think_open,
     .opening_without_thinking = think_open,
     .calls = CallStyle::json},
    // Qwen3-Coder
    {.name = "qwen3-coder",
     .calls = CallStyle::xml,
     .lists_tools_as_xml = true,
     .python_scalars = true,
     .trims_before_calls = true,
     .opens_first_tool_results = false,
     .results_open = "<|im_start|>user\n",
     .result_open = "<tool_response>\n",
     .result_close = "\n</tool_response>\n"},
    // Qwen3.5
    {.name = "qwen3.5",
     .thinking = true,
     .opening = think_open,
     .opening_without_thinking = think_empty,
     .trims = true,
     .always_shows_reasoning = true,
     .strict = true,
     .calls = CallStyle::xml,
     .lists_tools_first = true,
     .python_scalars = true,
     .opens_first_tool_results = false},
    // Qwen3.6
    {.name = "qwen3.6",
     .thinking = true,
     .opening = think_open,
     .opening_without_thinking = think_empty,
     .trims = true,
     .always_shows_reasoning = true,
     .keep_old_reasoning = true,
     .strict = true,
     .calls = CallStyle::xml,
     .lists_tools_first = true,
     .opens_first_tool_results = false},
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

CallStyle call_style(std::string_view source) {
    if (contains(source, "<function=")) return CallStyle::xml;
    return contains(source, "<tool_call>") ? CallStyle::json : CallStyle::none;
}

// What a template's text tells of its dialect; a newline is spelled "\n" there.
bool fits(const ChatDialect& dialect, std::string_view source) {
    if (dialect.calls != call_style(source) || dialect.thinking != contains(source, "</think>")) return false;
    if (dialect.lists_tools_as_xml != contains(source, R"(<function>\n<name>)")) return false;
    if (!dialect.thinking) return true;
    const std::size_t place = source.rfind("add_generation_prompt");
    const std::string_view generation = place == std::string_view::npos ? "" : source.substr(place);
    const bool opens = contains(generation, R"(<think>\n')") || contains(generation, R"(<think>\n")");
    const bool opens_empty = contains(generation, R"(<think>\n\n</think>\n\n)");
    return opens == (dialect.opening == think_open) &&
           opens_empty == (dialect.opening_without_thinking == think_empty) &&
           contains(source, "preserve_thinking") == dialect.keep_old_reasoning;
}

// The texts around the list of tools are the literals that a template writes as they are.
ToolTexts find_tool_texts(std::string_view source) {
    const std::vector<std::string> literals = template_literals(source);
    ToolTexts texts;
    std::size_t at = 0;
    while (at < literals.size() && !contains(literals[at], "# Tools")) ++at;
    for (; at < literals.size() && !texts.intro.ends_with("<tools>"); ++at) texts.intro += literals[at];
    while (at < literals.size() && !literals[at].starts_with("\n</tools>")) ++at;
    if (at == literals.size()) return {};
    texts.outro = literals[at];
    if (at + 1 < literals.size() && literals[at + 1].starts_with("\n\n")) texts.outro += literals[at + 1];
    constexpr std::string_view end = "<|im_end|>\n";
    if (texts.outro.ends_with(end)) texts.outro.resize(texts.outro.size() - end.size());
    constexpr std::string_view system = "<|im_start|>system\n";
    for (const std::string& literal : literals)
        if (literal.starts_with(system) && literal.size() > system.size())
            texts.default_system = literal.substr(system.size());
    return texts;
}

}  // namespace

FoundDialect find_dialect(std::string_view source) {
    if (source.empty()) return {&dialects[0], {}, ""};
    if (contains(source, "<|im_start|>") && contains(source, "<|im_end|>"))
        for (const ChatDialect& dialect : dialects)
            if (fits(dialect, source))
                return {&dialect, dialect.calls == CallStyle::none ? ToolTexts() : find_tool_texts(source), ""};
    return {&dialects[0],
            {},
            "The file's chat template is none of those that are known (ChatML, Qwen3, Qwen3-Coder, Qwen3-Next, "
            "Qwen3.5, Qwen3.6); plain ChatML stands in for it, which this model may not have been trained on."};
}

}  // namespace octavo
