// What a line of Markdown begins with.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/markdown/markdown.h"

namespace octavo {

bool is_blank(std::string_view line);
int indent_of(std::string_view line);  // columns; a tab goes to the next multiple of 4
std::string_view without_indent(std::string_view line, int columns);
std::string_view trim_blanks(std::string_view line);

struct Fence {
    char mark = '`';
    size_t length = 3;
    int indent = 0;
    std::string language;
};
std::optional<Fence> read_fence(std::string_view line);
bool closes_fence(const Fence& fence, std::string_view line);

struct Heading {
    int level = 1;
    std::string_view text;
};
std::optional<Heading> read_heading(std::string_view line);

bool is_rule(std::string_view line);
std::optional<std::string_view> without_quote_mark(std::string_view line);

struct ListMark {
    char kind = '-';  // '-', '*', '+', '.' or ')'
    int indent = 0;
    int content_indent = 2;  // columns before the item's text
    int64_t number = 0;      // of an ordered list
    std::optional<bool> checked;
    std::string_view text;  // after the mark

    std::string marker(int64_t number) const;
};
std::optional<ListMark> read_list_mark(std::string_view line);

// Alignments from the second line of a table; empty: the line is not one.
std::vector<CellAlign> read_table_rule(std::string_view line);
std::vector<std::string_view> split_row(std::string_view line);

}  // namespace octavo
