// Splits Markdown into blocks, for MarkdownDocument.
//
// Threads: one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ui/markdown/markdown.h"

namespace octavo {

class BlockParser {
  public:
    BlockParser(std::string_view text, bool growing) : text_(text), growing_(growing) {}

    // Appends the blocks.
    void parse(std::vector<MarkdownBlock>& blocks);

    // Of the last block in no container whose beginning is settled, whatever text may follow: where it begins, and how
    // many blocks (of the whole list) precede it.
    size_t last_start() const { return last_start_; }
    size_t blocks_before_last() const { return blocks_before_last_; }

  private:
    using Line = std::string_view;  // without its line end
    using Lines = std::span<const Line>;
    struct Container {
        int quotes = 0;
        int lists = 0;
        std::string marker;  // for the first block
    };

    void parse_lines(Lines lines, Container container);
    // Each takes lines from the start and says how many; 0: they are something else.
    size_t take_fence(Lines lines, Container& container);
    size_t take_indented_code(Lines lines, Container& container);
    size_t take_heading(Lines lines, Container& container);
    size_t take_rule(Lines lines, Container& container);
    size_t take_quote(Lines lines, Container& container);
    size_t take_list(Lines lines, Container& container);
    size_t take_table(Lines lines, Container& container);
    size_t take_paragraph(Lines lines, Container& container);
    bool interrupts_paragraph(Lines lines) const;

    MarkdownBlock& add(BlockKind kind, Container& container);
    // Whether these lines reach the end of a text that still grows.
    bool at_growing_end(Lines lines) const;

    std::string_view text_;
    bool growing_;
    std::vector<MarkdownBlock>* blocks_ = nullptr;
    size_t last_start_ = 0;
    size_t blocks_before_last_ = 0;
};

}  // namespace octavo
