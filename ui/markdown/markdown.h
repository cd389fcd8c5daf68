// Markdown as models write it, as a flat list of blocks: paragraphs, headings, code, list items, quotes, tables, rules.
// Containers (lists, quotes) are depths of the blocks inside them.
//
// Made for text that grows while it is shown: whatever is unfinished at the end is a block of what is there so far, and
// a text that got longer is parsed again from its last outer block only. Line ends inside a paragraph stay.
//
// Non-goals: HTML, references, footnotes, mathematics; their source is shown as it is.
//
// Threads: values; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ui/markdown/styled_text.h"

namespace octavo {

enum class BlockKind { paragraph, heading, code, table, rule };
enum class CellAlign : uint8_t { left, centre, right };

struct MarkdownBlock {
    BlockKind kind = BlockKind::paragraph;
    int level = 0;                  // of a heading, 1 to 6
    int quote_depth = 0;            // around it
    int list_depth = 0;             // around it
    std::string marker;             // "•", "3.", "☑": the first block of a list item has one
    std::string language;           // of code
    StyledText content;             // code: verbatim, without the last line end
    std::vector<StyledText> cells;  // of a table: [rows][columns], the first row is its head
    std::vector<CellAlign> aligns;  // of its columns
};

class MarkdownDocument {
  public:
    // Brings the blocks to those of `text`, which is clean (see clean_text). Returns how many blocks at the start are
    // the same as before. `growing`: more will follow.
    size_t update(std::string_view text, bool growing);

    const std::vector<MarkdownBlock>& blocks() const { return blocks_; }

  private:
    std::string text_;  // what the blocks are of
    bool growing_ = false;
    size_t last_start_ = 0;     // bytes before the last outer block that is settled
    size_t blocks_before_ = 0;  // blocks before it
    std::vector<MarkdownBlock> blocks_;
};

// Several paragraphs of text without any markup.
std::vector<MarkdownBlock> plain_blocks(std::string_view text);

}  // namespace octavo
