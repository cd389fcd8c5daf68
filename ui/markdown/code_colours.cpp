#include "ui/markdown/code_colours.h"

#include <algorithm>
#include <iterator>

namespace octavo {
namespace {

struct Syntax {
    std::string_view names;         // with a space around each
    std::string_view line_comment;  // empty: none
    std::string_view block_begin;
    std::string_view block_end;
    std::string_view quotes;
};

constexpr Syntax kSyntaxes[] = {
    {" c cpp c++ cc h hpp cuda cu java kotlin kt scala swift rust rs go golang csharp cs c# dart zig glsl hlsl wgsl ",
     "//", "/*", "*/", "\"'"},
    {" js javascript jsx ts typescript tsx php json json5 jsonc scss less proto ", "//", "/*", "*/", "\"'`"},
    {" python py ruby rb perl r julia jl elixir nim sh bash zsh shell fish console yaml yml toml ini cmake make "
     "makefile "
     "dockerfile docker nix ",
     "#", "", "", "\"'"},
    {" sql lua haskell hs ada elm ", "--", "/*", "*/", "\"'"},
    {" css ", "", "/*", "*/", "\"'"},
    {" html xml svg vue ", "", "<!--", "-->", "\"'"},
    {" asm nasm lisp clojure clj scheme elisp ", ";", "", "", "\""},
    {" tex latex matlab octave erlang ", "%", "", "", "\""},
};

// In order, for a binary search.
constexpr std::string_view kKeywords[] = {
    "False",     "None",       "SELECT",  "Self",     "True",      "WHERE",    "abstract", "and",       "as",
    "assert",    "async",      "auto",    "await",    "bool",      "break",    "byte",     "case",      "catch",
    "char",      "class",      "concept", "const",    "constexpr", "continue", "def",      "default",   "del",
    "do",        "done",       "double",  "echo",     "elif",      "else",     "end",      "enum",      "esac",
    "except",    "export",     "extends", "extern",   "false",     "fi",       "final",    "finally",   "float",
    "fn",        "for",        "from",    "func",     "function",  "global",   "go",       "goto",      "if",
    "impl",      "implements", "import",  "in",       "include",   "inline",   "int",      "interface", "is",
    "lambda",    "let",        "local",   "long",     "loop",      "match",    "mod",      "module",    "mut",
    "namespace", "new",        "nil",     "noexcept", "not",       "null",     "nullptr",  "operator",  "or",
    "override",  "package",    "pass",    "private",  "protected", "pub",      "public",   "raise",     "ref",
    "require",   "return",     "select",  "self",     "short",     "signed",   "sizeof",   "static",    "string",
    "struct",    "super",      "switch",  "template", "then",      "this",     "throw",    "trait",     "true",
    "try",       "type",       "typedef", "typename", "undefined", "union",    "unless",   "unsafe",    "unsigned",
    "use",       "using",      "val",     "var",      "virtual",   "void",     "volatile", "when",      "where",
    "while",     "with",       "yield"};
static_assert(std::is_sorted(std::begin(kKeywords), std::end(kKeywords)));

const Syntax* find_syntax(std::string_view language) {
    std::string name = " " + std::string(language) + " ";
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    if (name.size() < 3) return nullptr;
    const auto* found = std::find_if(std::begin(kSyntaxes), std::end(kSyntaxes), [&](const Syntax& syntax) {
        return syntax.names.find(name) != std::string_view::npos;
    });
    return found == std::end(kSyntaxes) ? nullptr : found;
}

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

size_t end_of_string(std::string_view code, size_t at) {
    const char quote = code[at++];
    while (at < code.size() && code[at] != quote && (code[at] != '\n' || quote == '`')) at += code[at] == '\\' ? 2 : 1;
    return std::min(at + 1, code.size());
}

}  // namespace

StyledText colour_code(std::string_view code, std::string_view language) {
    StyledText styled;
    const Syntax* syntax = find_syntax(language);
    if (syntax == nullptr) {
        styled.append(code, style_code);
        return styled;
    }
    const auto starts = [&](size_t at, std::string_view mark) {
        return !mark.empty() && code.substr(at).starts_with(mark);
    };
    for (size_t at = 0; at < code.size();) {
        size_t end = at + 1;
        int style = style_code;
        if (starts(at, syntax->block_begin)) {
            const size_t close = code.find(syntax->block_end, at + syntax->block_begin.size());
            end = close == std::string_view::npos ? code.size() : close + syntax->block_end.size();
            style |= style_comment;
        } else if (starts(at, syntax->line_comment)) {
            end = std::min(code.find('\n', at), code.size());
            style |= style_comment;
        } else if (syntax->quotes.find(code[at]) != std::string_view::npos) {
            end = end_of_string(code, at);
            style |= style_string;
        } else if (is_word(code[at])) {
            while (end < code.size() && is_word(code[end])) ++end;
            if (std::binary_search(std::begin(kKeywords), std::end(kKeywords), code.substr(at, end - at)))
                style |= style_keyword;
        } else {
            while (end < code.size() && !is_word(code[end]) &&
                   syntax->quotes.find(code[end]) == std::string_view::npos && !starts(end, syntax->line_comment) &&
                   !starts(end, syntax->block_begin))
                ++end;
        }
        styled.append(code.substr(at, end - at), static_cast<uint8_t>(style));
        at = end;
    }
    return styled;
}

}  // namespace octavo
