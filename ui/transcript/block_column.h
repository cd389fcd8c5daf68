// One text of a message (what was said, or the thinking): parsed, laid out for a width, drawn where it is visible.
// A text that grows is parsed and laid out again from its last block only.
//
// Threads: the window's.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/text/table_layout.h"

namespace octavo {

struct BlockPosition {
    uint32_t block = 0;
    uint32_t byte = 0;  // of the block's text
    auto operator<=>(const BlockPosition&) const = default;
};

struct BlockRange {
    BlockPosition begin;
    BlockPosition end;
};

enum class TextKind { markdown, plain, small };  // small: Markdown in small print

class BlockColumn {
  public:
    // `growing`: more will follow.
    void set_text(std::string_view text, TextKind kind, bool growing);
    void lay_out(Ui& ui, float width);

    float height() const { return height_; }
    float widest() const { return widest_; }
    bool lacks_glyphs() const { return lacks_glyphs_; }
    // Forgets the lines, which are made again at the next lay_out.
    void invalidate() { width_ = -1; }
    bool empty() const { return blocks().empty(); }

    // What lies between `top` and `bottom` of the screen. `name` tells this column's buttons from others'.
    void draw(Ui& ui, ImVec2 origin, float top, float bottom, ImU32 colour, const std::optional<BlockRange>& selection,
              int64_t name) const;

    // Points are from the column's top left.
    BlockPosition position_at(Ui& ui, ImVec2 point) const;
    bool over_text(ImVec2 point) const;
    // The address of the link there; null: none.
    const std::string* link_at(ImVec2 point) const;
    BlockRange word_at(Ui& ui, ImVec2 point) const;
    BlockRange block_at(Ui& ui, ImVec2 point) const;
    BlockRange all() const;
    std::string text_between(const BlockRange& range) const;

  private:
    struct LaidBlock {
        float top = 0;  // of the block with its frame
        float bottom = 0;
        float x = 0;  // of its text
        float y = 0;
        TextLayout layout;
        TableLayout table;
        const TextLayout& text_layout(BlockKind kind) const { return kind == BlockKind::table ? table.layout : layout; }
    };

    const std::vector<MarkdownBlock>& blocks() const { return kind_ == TextKind::plain ? plain_ : document_.blocks(); }
    const StyledText& text_of(size_t block) const;
    LaidBlock lay_out_block(Ui& ui, const MarkdownBlock& block, float y) const;
    size_t block_near(float y) const;
    ImVec2 inside(size_t block, ImVec2 point) const;
    void draw_frame(Ui& ui, ImDrawList& list, size_t index, ImVec2 origin, int64_t name) const;
    void draw_marks(Ui& ui, ImDrawList& list, size_t index, ImVec2 origin, ImU32 colour) const;

    TextKind kind_ = TextKind::markdown;
    MarkdownDocument document_;
    std::vector<MarkdownBlock> plain_;
    std::vector<LaidBlock> laid_;  // as many as are up to date
    float width_ = -1;
    float height_ = 0;
    float widest_ = 0;
    bool lacks_glyphs_ = false;
};

}  // namespace octavo
