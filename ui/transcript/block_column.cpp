#include "ui/transcript/block_column.h"

#include <algorithm>
#include <cmath>

#include "ui/text/clean_text.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

// Distances at scale 1.
constexpr float kIndent = 22;       // of a list inside a list
constexpr float kQuoteIndent = 16;  // of what is quoted
constexpr float kParagraphGap = 11;
constexpr float kItemGap = 4;
constexpr float kCodePadding = 12;
constexpr float kCodeHead = 32;
constexpr float kRuleHeight = 18;

Face face_of(const MarkdownBlock& block, TextKind kind) {
    if (kind == TextKind::small) return block.kind == BlockKind::code ? Face::mono : Face::small;
    switch (block.kind) {
        case BlockKind::heading:
            return block.level <= 1 ? Face::title : block.level == 2 ? Face::heading : Face::strong;
        case BlockKind::code: return Face::mono;
        default: return Face::body;
    }
}

float gap_before(const MarkdownBlock& block, const MarkdownBlock& before) {
    if (block.kind == BlockKind::heading) return block.level <= 2 ? 22 : 18;
    if (before.kind == BlockKind::heading) return 7;
    const bool same_list = block.list_depth > 0 && before.list_depth > 0;
    return same_list && block.kind != BlockKind::code && before.kind != BlockKind::code ? kItemGap : kParagraphGap;
}

bool is_word_byte(char c) { return (c & 0x80) != 0 || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

}  // namespace

void BlockColumn::set_text(std::string_view text, TextKind kind, bool growing) {
    const std::string clean = clean_text(text);
    size_t same = 0;
    if (kind != kind_) laid_.clear();
    kind_ = kind;
    if (kind == TextKind::plain)
        plain_ = plain_blocks(clean);
    else
        same = document_.update(clean, growing);
    laid_.resize(std::min(laid_.size(), same));
}

void BlockColumn::lay_out(Ui& ui, float width) {
    if (width != width_) laid_.clear();
    width_ = width;
    if (laid_.empty()) {
        lacks_glyphs_ = false;
        widest_ = 0;
    }
    while (laid_.size() < blocks().size()) {
        const size_t index = laid_.size();
        const MarkdownBlock& block = blocks()[index];
        float y = 0;
        if (index > 0) {
            const LaidBlock& before = laid_.back();
            y = before.bottom + ui.px(gap_before(block, blocks()[index - 1]));
        }
        laid_.push_back(lay_out_block(ui, block, std::round(y)));
        const LaidBlock& laid = laid_.back();
        lacks_glyphs_ |= laid.text_layout(block.kind).lacks_glyphs;
        widest_ =
            std::max(widest_, block.kind == BlockKind::code ? width : laid.x + laid.text_layout(block.kind).widest);
    }
    height_ = laid_.empty() ? 0 : laid_.back().bottom;
}

BlockColumn::LaidBlock BlockColumn::lay_out_block(Ui& ui, const MarkdownBlock& block, float y) const {
    LaidBlock laid;
    laid.x = ui.px(kIndent) * static_cast<float>(block.list_depth) +
             ui.px(kQuoteIndent) * static_cast<float>(block.quote_depth);
    laid.x = std::min(laid.x, width_ / 2);
    const float width = width_ - laid.x;
    laid.top = laid.y = y;
    const Face face = face_of(block, kind_);
    switch (block.kind) {
        case BlockKind::rule: laid.bottom = y + ui.px(kRuleHeight); return laid;
        case BlockKind::table:
            laid.table = lay_out_table(ui, block, width);
            laid.bottom = y + laid.table.layout.height;
            return laid;
        case BlockKind::code: {
            const float padding = ui.px(kCodePadding);
            laid.layout = lay_out_text(ui, block.content, {.width = width - 2 * padding, .face = face, .code = true});
            laid.x += padding;
            laid.y += ui.px(kCodeHead);
            laid.bottom = laid.y + laid.layout.height + padding;
            return laid;
        }
        default:
            laid.layout = lay_out_text(ui, block.content, {.width = width, .face = face});
            laid.bottom = y + laid.layout.height;
            return laid;
    }
}

const StyledText& BlockColumn::text_of(size_t block) const {
    return blocks()[block].kind == BlockKind::table ? laid_[block].table.text : blocks()[block].content;
}

void BlockColumn::draw(Ui& ui, ImVec2 origin, float top, float bottom, ImU32 colour,
                       const std::optional<BlockRange>& selection, int64_t name) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const TextColours colours{colour, ui.theme.accent, ui.theme.code};
    for (size_t i = block_near(top - origin.y); i < laid_.size(); ++i) {
        const LaidBlock& laid = laid_[i];
        const MarkdownBlock& block = blocks()[i];
        if (origin.y + laid.top >= bottom) break;
        draw_frame(ui, list, i, origin, name);
        draw_marks(ui, list, i, origin, colour);
        const ImVec2 at(origin.x + laid.x, origin.y + laid.y);
        const TextLayout& layout = laid.text_layout(block.kind);
        if (selection && selection->begin.block <= i && i <= selection->end.block) {
            const uint32_t from = selection->begin.block == i ? selection->begin.byte : 0;
            const uint32_t until = selection->end.block == i ? selection->end.byte : static_cast<uint32_t>(-1);
            draw_selection(ui, list, text_of(i), layout, at, top, bottom, from, until);
        }
        TextColours own = colours;
        if (block.kind == BlockKind::code) own.code_surface = 0;
        if (block.quote_depth > 0 && block.kind != BlockKind::code) own.text = ui.theme.muted;
        draw_text(ui, list, text_of(i), layout, at, top, bottom, own);
    }
}

// Behind the text: the surface of code with its head, the lines of a table, a rule.
void BlockColumn::draw_frame(Ui& ui, ImDrawList& list, size_t index, ImVec2 origin, int64_t name) const {
    const LaidBlock& laid = laid_[index];
    const MarkdownBlock& block = blocks()[index];
    const float left = origin.x + laid.x;
    const float top = origin.y + laid.y;
    if (block.kind == BlockKind::rule) {
        const float y = std::floor((top + origin.y + laid.bottom) / 2);
        list.AddRectFilled({left, y}, {origin.x + width_, y + 1}, ui.theme.border);
    } else if (block.kind == BlockKind::table) {
        for (size_t row = 1; row + 1 < laid.table.row_tops.size(); ++row) {
            const float y = std::floor(top + laid.table.row_tops[row]);
            const ImU32 line = row == 1 ? mix(ui.theme.border, ui.theme.muted, 0.5f) : ui.theme.border;
            list.AddRectFilled({left, y}, {left + laid.table.width, y + 1}, line);
        }
    } else if (block.kind == BlockKind::code) {
        const float padding = ui.px(kCodePadding);
        const ImVec2 frame(left - padding, origin.y + laid.top);
        const ImVec2 end(origin.x + width_, origin.y + laid.bottom);
        list.AddRectFilled(frame, end, ui.theme.code, ui.px(8));
        list.AddRect(frame, end, ui.theme.border, ui.px(8));
        ImFont* small = ui.font(Face::small);
        ui.loader.see(Face::small, block.language);
        list.AddText(small, small->FontSize, {left, std::floor(frame.y + ui.px(9))}, ui.theme.muted,
                     block.language.data(), block.language.data() + block.language.size());
        ImGui::PushID(static_cast<int>(name));
        ImGui::PushID(static_cast<int>(index));
        ImGui::SetCursorScreenPos({end.x - ui.px(70), frame.y + ui.px(4)});
        if (button(ui, "Copy##code", {.kind = ButtonKind::quiet, .icon = Icon::copy, .small = true, .muted = true}))
            ImGui::SetClipboardText(block.content.text.c_str());
        ImGui::PopID();
        ImGui::PopID();
    }
}

// Beside the text: the mark of a list item, the bars of quotes.
void BlockColumn::draw_marks(Ui& ui, ImDrawList& list, size_t index, ImVec2 origin, ImU32 colour) const {
    const LaidBlock& laid = laid_[index];
    const MarkdownBlock& block = blocks()[index];
    const float top = origin.y + laid.y;
    for (int depth = 0; depth < block.quote_depth; ++depth) {
        const float x = std::floor(origin.x + ui.px(kIndent) * static_cast<float>(block.list_depth) +
                                   ui.px(kQuoteIndent) * static_cast<float>(depth));
        const bool goes_on = index + 1 < laid_.size() && blocks()[index + 1].quote_depth > depth;
        const float bottom = goes_on ? origin.y + laid_[index + 1].y : origin.y + laid.bottom;
        list.AddRectFilled({x, top}, {x + ui.px(3), bottom}, ui.theme.border, ui.px(1.5f));
    }
    if (block.marker.empty()) return;
    const Face face = kind_ == TextKind::small ? Face::small : Face::body;
    ImFont* font = ui.font(face);
    const ImVec2 size = text_size(ui, face, block.marker);
    const float line = laid.layout.line_height > 0 ? laid.layout.line_height : size.y;
    const float x = std::max(origin.x + laid.x - size.x - ui.px(7), origin.x - ui.px(4));
    list.AddText(font, font->FontSize, {std::floor(x), std::floor(top + (line - size.y) / 2)},
                 block.marker == "•" ? ui.theme.muted : colour, block.marker.c_str());
}

// The block at a height, or the nearest one above.
size_t BlockColumn::block_near(float y) const {
    const auto after =
        std::partition_point(laid_.begin(), laid_.end(), [y](const LaidBlock& laid) { return laid.bottom <= y; });
    return static_cast<size_t>(after - laid_.begin());
}

ImVec2 BlockColumn::inside(size_t block, ImVec2 point) const {
    return {point.x - laid_[block].x, point.y - laid_[block].y};
}

BlockPosition BlockColumn::position_at(Ui& ui, ImVec2 point) const {
    if (laid_.empty()) return {};
    const size_t block = std::min(block_near(point.y), laid_.size() - 1);
    const TextLayout& layout = laid_[block].text_layout(blocks()[block].kind);
    const ImVec2 at = inside(block, point);
    if (layout.lines.empty() || at.y < 0) return {static_cast<uint32_t>(block), 0};
    if (at.y >= layout.height) return {static_cast<uint32_t>(block), static_cast<uint32_t>(text_of(block).text.size())};
    return {static_cast<uint32_t>(block), byte_at(ui, text_of(block), layout, at.x, at.y)};
}

bool BlockColumn::over_text(ImVec2 point) const {
    const size_t block = block_near(point.y);
    if (block >= laid_.size()) return false;
    const ImVec2 at = inside(block, point);
    return run_at(laid_[block].text_layout(blocks()[block].kind), at.x, at.y) != nullptr;
}

const std::string* BlockColumn::link_at(ImVec2 point) const {
    const size_t block = block_near(point.y);
    if (block >= laid_.size()) return nullptr;
    const ImVec2 at = inside(block, point);
    const TextRun* run = run_at(laid_[block].text_layout(blocks()[block].kind), at.x, at.y);
    return run == nullptr || run->link < 0 ? nullptr : &text_of(block).links[static_cast<size_t>(run->link)];
}

BlockRange BlockColumn::word_at(Ui& ui, ImVec2 point) const {
    const BlockPosition at = position_at(ui, point);
    if (laid_.empty()) return {at, at};
    const std::string& text = text_of(at.block).text;
    uint32_t begin = at.byte;
    uint32_t end = at.byte;
    while (begin > 0 && is_word_byte(text[begin - 1])) --begin;
    while (end < text.size() && is_word_byte(text[end])) ++end;
    return {{at.block, begin}, {at.block, end}};
}

BlockRange BlockColumn::block_at(Ui& ui, ImVec2 point) const {
    const BlockPosition at = position_at(ui, point);
    if (laid_.empty()) return {at, at};
    return {{at.block, 0}, {at.block, static_cast<uint32_t>(text_of(at.block).text.size())}};
}

BlockRange BlockColumn::all() const {
    if (laid_.empty()) return {};
    const size_t last = laid_.size() - 1;
    return {{0, 0}, {static_cast<uint32_t>(last), static_cast<uint32_t>(text_of(last).text.size())}};
}

std::string BlockColumn::text_between(const BlockRange& range) const {
    std::string copied;
    for (size_t i = range.begin.block; i <= range.end.block && i < laid_.size(); ++i) {
        const std::string& text = text_of(i).text;
        const size_t begin = i == range.begin.block ? std::min<size_t>(range.begin.byte, text.size()) : 0;
        const size_t end = i == range.end.block ? std::min<size_t>(range.end.byte, text.size()) : text.size();
        const MarkdownBlock& block = blocks()[i];
        if (i > range.begin.block) copied += block.marker.empty() ? "\n\n" : "\n";
        if (begin == 0 && !block.marker.empty() && i > range.begin.block)
            copied += std::string(static_cast<size_t>(block.list_depth - 1) * 2, ' ') + block.marker + " ";
        copied += text.substr(begin, std::max(begin, end) - begin);
    }
    return copied;
}

}  // namespace octavo
