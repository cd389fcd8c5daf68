#include "app/printable_text.h"

#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

// Also the separators that some terminals take for a new line.
bool changes_layout(char32_t code) {
    return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

std::string_view escape_of(char32_t code) {
    switch (code) {
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return "\\t";
        default: return {};
    }
}

std::string printable(std::string_view text, bool several_lines) {
    std::string shown;
    while (!text.empty()) {
        const Utf8Step step = read_utf8(text);
        const std::string_view bytes = text.substr(0, static_cast<size_t>(step.bytes));
        text.remove_prefix(bytes.size());
        const bool sound = step.kind == Utf8Step::Kind::character;
        const char32_t code = step.character;
        if (sound && several_lines && (code == '\n' || code == '\t'))
            shown += bytes;
        else if (sound && !escape_of(code).empty())
            shown += escape_of(code);
        else if (sound && !is_control(code) && !changes_layout(code))
            shown += bytes;
        else
            shown += replacement_character;
    }
    return shown;
}

}  // namespace

std::string printable_line(std::string_view text) { return printable(text, false); }
std::string printable_text(std::string_view text) { return printable(text, true); }

}  // namespace octavo
