#include "ui/markdown/block_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ui/markdown/code_colours.h"
#include "ui/markdown/inline_markdown.h"
#include "ui/markdown/line_marks.h"

namespace octavo {
namespace {

constexpr int kDeepest = 8;  // containers in containers; deeper ones are text
constexpr size_t kMostColumns = 32;

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace

void BlockParser::parse(std::vector<MarkdownBlock>& blocks) {
    blocks_ = &blocks;
    blocks_before_last_ = blocks.size();
    const std::vector<Line> lines = split_lines(text_);
    parse_lines(lines, {});
}

void BlockParser::parse_lines(Lines lines, Container container) {
    const bool outermost = container.quotes == 0 && container.lists == 0;
    using Take = size_t (BlockParser::*)(Lines, Container&);
    static constexpr Take takes[] = {&BlockParser::take_fence,   &BlockParser::take_indented_code,
                                     &BlockParser::take_heading, &BlockParser::take_rule,
                                     &BlockParser::take_quote,   &BlockParser::take_list,
                                     &BlockParser::take_table,   &BlockParser::take_paragraph};
    while (!lines.empty()) {
        if (is_blank(lines.front())) {
            lines = lines.subspan(1);
            continue;
        }
        // What a line is can change while it grows, and the line below it can make it the head of a table.
        const size_t complete = lines.size() - (text_.ends_with('\n') ? 0 : 1);
        if (outermost && complete >= 2) {
            last_start_ = static_cast<size_t>(lines.front().data() - text_.data());
            blocks_before_last_ = blocks_->size();
        }
        size_t taken = 0;
        for (const Take take : takes) {
            taken = (this->*take)(lines, container);
            if (taken > 0) break;
        }
        lines = lines.subspan(taken);
    }
    if (!container.marker.empty()) add(BlockKind::paragraph, container);  // an item without anything in it
}

MarkdownBlock& BlockParser::add(BlockKind kind, Container& container) {
    MarkdownBlock& block = blocks_->emplace_back();
    block.kind = kind;
    block.quote_depth = container.quotes;
    block.list_depth = container.lists;
    block.marker = std::exchange(container.marker, "");
    return block;
}

bool BlockParser::at_growing_end(Lines lines) const {
    return growing_ && lines.back().data() + lines.back().size() >= text_.data() + text_.size();
}

size_t BlockParser::take_fence(Lines lines, Container& container) {
    const std::optional<Fence> fence = read_fence(lines.front());
    if (!fence) return 0;
    size_t end = 1;
    while (end < lines.size() && !closes_fence(*fence, lines[end])) ++end;
    std::string code;
    for (size_t i = 1; i < end; ++i) {
        if (i > 1) code += '\n';
        code += without_indent(lines[i], fence->indent);
    }
    MarkdownBlock& block = add(BlockKind::code, container);
    block.language = fence->language;
    block.content = colour_code(code, block.language);
    return std::min(end + 1, lines.size());
}

size_t BlockParser::take_indented_code(Lines lines, Container& container) {
    size_t end = 0;
    for (size_t i = 0; i < lines.size() && (indent_of(lines[i]) >= 4 || is_blank(lines[i])); ++i)
        if (!is_blank(lines[i])) end = i + 1;
    if (end == 0) return 0;
    std::string code;
    for (size_t i = 0; i < end; ++i) {
        if (i > 0) code += '\n';
        code += without_indent(lines[i], 4);
    }
    add(BlockKind::code, container).content.append(code, style_code);
    return end;
}

size_t BlockParser::take_heading(Lines lines, Container& container) {
    const std::optional<Heading> heading = read_heading(lines.front());
    if (!heading) return 0;
    MarkdownBlock& block = add(BlockKind::heading, container);
    block.level = heading->level;
    block.content = parse_inline(heading->text, at_growing_end(lines.first(1)));
    return 1;
}

size_t BlockParser::take_rule(Lines lines, Container& container) {
    if (!is_rule(lines.front())) return 0;
    add(BlockKind::rule, container);
    return 1;
}

size_t BlockParser::take_quote(Lines lines, Container& container) {
    if (container.quotes + container.lists >= kDeepest) return 0;
    std::vector<Line> inside;
    while (inside.size() < lines.size()) {
        const std::optional<Line> line = without_quote_mark(lines[inside.size()]);
        if (!line) break;
        inside.push_back(*line);
    }
    if (inside.empty()) return 0;
    Container quote{container.quotes + 1, container.lists, std::exchange(container.marker, "")};
    parse_lines(inside, std::move(quote));
    return inside.size();
}

size_t BlockParser::take_list(Lines lines, Container& container) {
    const std::optional<ListMark> first = read_list_mark(lines.front());
    if (!first || container.quotes + container.lists >= kDeepest) return 0;
    size_t at = 0;
    int64_t number = first->number;
    while (at < lines.size()) {
        const std::optional<ListMark> mark = read_list_mark(lines[at]);
        if (!mark || mark->kind != first->kind || is_rule(lines[at])) break;
        // The item's lines: those indented to its text, blank ones between them, and lines that go on with a paragraph.
        std::vector<Line> inside = {mark->text};
        size_t blank_from = 0;  // in `inside`, 0: the last line is not blank
        for (++at; at < lines.size(); ++at) {
            const Line line = lines[at];
            if (is_blank(line)) {
                if (blank_from == 0) blank_from = inside.size();
                inside.emplace_back();
            } else if (indent_of(line) >= std::min(mark->content_indent, first->indent + 2)) {
                inside.push_back(without_indent(line, mark->content_indent));
                blank_from = 0;
            } else if (blank_from == 0 && !interrupts_paragraph(lines.subspan(at)) && !is_blank(inside.back())) {
                inside.push_back(line);
            } else {
                break;
            }
        }
        if (blank_from > 0) inside.resize(blank_from);
        Container item{container.quotes, container.lists + 1, mark->marker(number++)};
        parse_lines(inside, std::move(item));
    }
    return at;
}

bool BlockParser::interrupts_paragraph(Lines lines) const {
    const Line line = lines.front();
    if (lines.size() > 1 && line.find('|') != Line::npos && !read_table_rule(lines[1]).empty()) return true;
    return is_blank(line) || read_fence(line) || read_heading(line) || is_rule(line) || without_quote_mark(line) ||
           read_list_mark(line);
}

size_t BlockParser::take_table(Lines lines, Container& container) {
    if (lines.size() < 2 || lines[0].find('|') == Line::npos) return 0;
    std::vector<CellAlign> aligns = read_table_rule(lines[1]);
    const std::vector<Line> head = split_row(lines[0]);
    if (aligns.empty() || aligns.size() != head.size() || aligns.size() > kMostColumns) return 0;
    MarkdownBlock& block = add(BlockKind::table, container);
    block.aligns = std::move(aligns);
    size_t end = 0;
    for (; end < lines.size() && !is_blank(lines[end]) && lines[end].find('|') != Line::npos; ++end) {
        if (end == 1) continue;
        std::vector<Line> row = split_row(lines[end]);
        row.resize(block.aligns.size());
        for (const Line cell : row) block.cells.push_back(parse_inline(cell, false));
    }
    return end;
}

size_t BlockParser::take_paragraph(Lines lines, Container& container) {
    size_t end = 1;
    while (end < lines.size() && !interrupts_paragraph(lines.subspan(end))) ++end;
    std::string text;
    for (size_t i = 0; i < end; ++i) {
        if (i > 0) text += '\n';
        text += trim_blanks(lines[i]);
    }
    add(BlockKind::paragraph, container).content = parse_inline(text, at_growing_end(lines.first(end)));
    return end;
}

}  // namespace octavo
