#include "models/chat/template_literals.h"

#include <optional>

#include "models/chat/text_trim.h"

namespace octavo {
namespace {

char unescaped(char c) { return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c; }

// The text of an expression that is one literal.
std::optional<std::string> literal_of(std::string_view expression) {
    if (expression.size() < 2 || (expression[0] != '\'' && expression[0] != '"')) return std::nullopt;
    std::string text;
    for (std::size_t i = 1; i < expression.size(); ++i) {
        if (expression[i] == expression[0]) return i + 1 == expression.size() ? std::optional(text) : std::nullopt;
        const bool escape = expression[i] == '\\' && i + 1 < expression.size();
        text += escape ? unescaped(expression[++i]) : expression[i];
    }
    return std::nullopt;
}

// Where the expression that starts at `at` ends: "}}" outside literals; the text's end if nowhere.
std::size_t end_of_expression(std::string_view source, std::size_t at) {
    char quote = 0;
    for (; at < source.size(); ++at) {
        if (quote != 0 && source[at] == '\\') {
            ++at;
        } else if (quote != 0) {
            if (source[at] == quote) quote = 0;
        } else if (source[at] == '\'' || source[at] == '"') {
            quote = source[at];
        } else if (source.substr(at).starts_with("}}")) {
            return at;
        }
    }
    return source.size();
}

}  // namespace

std::vector<std::string> template_literals(std::string_view source) {
    std::vector<std::string> literals;
    for (std::size_t at = source.find("{{"); at < source.size(); at = source.find("{{", at)) {
        const std::size_t end = end_of_expression(source, at + 2);
        std::string_view expression = source.substr(at + 2, end - at - 2);
        if (expression.starts_with('-')) expression.remove_prefix(1);
        if (expression.ends_with('-')) expression.remove_suffix(1);
        if (auto literal = literal_of(trim(expression))) literals.push_back(std::move(*literal));
        at = end;
    }
    return literals;
}

}  // namespace octavo
