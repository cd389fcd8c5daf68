#include "ui/markdown/line_marks.h"

#include <algorithm>
#include <charconv>

namespace octavo {
namespace {

constexpr size_t kMostDigits = 9;  // of a list's number

bool only_has(std::string_view text, const char* characters) {
    return text.find_first_not_of(characters) == std::string_view::npos;
}

}  // namespace

bool is_blank(std::string_view line) { return only_has(line, " \t"); }

int indent_of(std::string_view line) {
    int columns = 0;
    for (const char c : line) {
        if (c == ' ')
            ++columns;
        else if (c == '\t')
            columns += 4 - columns % 4;
        else
            break;
    }
    return columns;
}

std::string_view without_indent(std::string_view line, int columns) {
    int passed = 0;
    size_t at = 0;
    while (at < line.size() && passed < columns && (line[at] == ' ' || line[at] == '\t'))
        passed += line[at++] == ' ' ? 1 : 4 - passed % 4;
    return line.substr(at);
}

std::string_view trim_blanks(std::string_view line) {
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const size_t end = line.find_last_not_of(" \t");
    return end == std::string_view::npos ? std::string_view() : line.substr(begin, end + 1 - begin);
}

std::optional<Fence> read_fence(std::string_view line) {
    const int indent = indent_of(line);
    const std::string_view text = trim_blanks(line);
    if (indent > 3 || text.size() < 3 || (text[0] != '`' && text[0] != '~')) return {};
    const size_t length = std::min(text.find_first_not_of(text[0]), text.size());
    const std::string_view info = trim_blanks(text.substr(length));
    if (length < 3 || (text[0] == '`' && info.find('`') != std::string_view::npos)) return {};
    return Fence{text[0], length, indent, std::string(info.substr(0, info.find_first_of(" {")))};
}

bool closes_fence(const Fence& fence, std::string_view line) {
    const std::string_view text = trim_blanks(line);
    return indent_of(line) <= 3 + fence.indent && text.size() >= fence.length &&
           text.find_first_not_of(fence.mark) == std::string_view::npos;
}

std::optional<Heading> read_heading(std::string_view line) {
    if (indent_of(line) > 3) return {};
    std::string_view text = trim_blanks(line);
    const size_t level = std::min(text.find_first_not_of('#'), text.size());
    if (level < 1 || level > 6 || (level < text.size() && text[level] != ' ' && text[level] != '\t')) return {};
    text = trim_blanks(text.substr(level));
    const size_t last = text.find_last_not_of('#');
    if (last == std::string_view::npos)
        text = {};
    else if (last + 1 < text.size() && text[last] == ' ')
        text = trim_blanks(text.substr(0, last));
    return Heading{static_cast<int>(level), text};
}

bool is_rule(std::string_view line) {
    const std::string_view text = trim_blanks(line);
    if (indent_of(line) > 3 || text.empty() || (text[0] != '-' && text[0] != '*' && text[0] != '_')) return false;
    const char allowed[] = {text[0], ' ', '\t', '\0'};
    return only_has(text, allowed) && std::count(text.begin(), text.end(), text[0]) >= 3;
}

std::optional<std::string_view> without_quote_mark(std::string_view line) {
    if (indent_of(line) > 3) return {};
    const std::string_view text = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    if (text.empty() || text[0] != '>') return {};
    return text.substr(text.size() > 1 && text[1] == ' ' ? 2 : 1);
}

std::string ListMark::marker(int64_t shown_number) const {
    if (checked) return *checked ? "☑" : "☐";
    return kind == '.' || kind == ')' ? std::to_string(shown_number) + kind : "•";
}

std::optional<ListMark> read_list_mark(std::string_view line) {
    ListMark mark;
    mark.indent = indent_of(line);
    if (mark.indent > 3) return {};
    const std::string_view text = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    size_t length = 0;
    if (!text.empty() && (text[0] == '-' || text[0] == '*' || text[0] == '+')) {
        mark.kind = text[0];
        length = 1;
    } else {
        const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        if (digits == 0 || digits > kMostDigits || digits == text.size()) return {};
        mark.kind = text[digits];
        if (mark.kind != '.' && mark.kind != ')') return {};
        std::from_chars(text.data(), text.data() + digits, mark.number);
        length = digits + 1;
    }
    if (length < text.size() && text[length] != ' ' && text[length] != '\t') return {};
    const std::string_view rest = text.substr(length);
    const int spaces = indent_of(rest);
    const int gap = is_blank(rest) || spaces > 4 ? 1 : spaces;  // more is the indent of code inside
    mark.content_indent = mark.indent + static_cast<int>(length) + gap;
    mark.text = without_indent(rest, gap);
    for (const auto& [box, checked] : {std::pair("[ ] ", false), std::pair("[x] ", true), std::pair("[X] ", true)})
        if (mark.text.starts_with(box)) {
            mark.checked = checked;
            mark.text.remove_prefix(4);
            break;
        }
    return mark;
}

std::vector<CellAlign> read_table_rule(std::string_view line) {
    if (line.find('-') == std::string_view::npos || !only_has(line, "|-: \t")) return {};
    std::vector<CellAlign> aligns;
    for (const std::string_view cell : split_row(line)) {
        if (cell.find('-') == std::string_view::npos) return {};
        const bool left = cell.front() == ':';
        const bool right = cell.back() == ':';
        aligns.push_back(left && right ? CellAlign::centre : right ? CellAlign::right : CellAlign::left);
    }
    return aligns;
}

std::vector<std::string_view> split_row(std::string_view line) {
    line = trim_blanks(line);
    if (line.starts_with('|')) line.remove_prefix(1);
    std::vector<std::string_view> cells;
    size_t begin = 0;
    for (size_t at = 0; at <= line.size(); ++at) {
        const bool end = at == line.size();
        if (!end && (line[at] != '|' || (at > 0 && line[at - 1] == '\\'))) continue;
        if (end && begin == at && !cells.empty()) break;  // the line ends with '|'
        cells.push_back(trim_blanks(line.substr(begin, at - begin)));
        begin = at + 1;
    }
    return cells;
}

}  // namespace octavo
