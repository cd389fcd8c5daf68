#include "ui/markdown/markdown.h"

#include <algorithm>
#include <utility>

#include "ui/markdown/block_parser.h"

namespace octavo {

size_t MarkdownDocument::update(std::string_view text, bool growing) {
    const bool grew = !text_.empty() && text.starts_with(text_);
    if (grew && text.size() == text_.size() && growing == growing_) return blocks_.size();
    const size_t start = grew ? last_start_ : 0;
    const size_t kept = grew ? blocks_before_ : 0;
    blocks_.resize(kept);

    BlockParser parser(text.substr(start), growing);
    parser.parse(blocks_);
    last_start_ = start + parser.last_start();
    blocks_before_ = parser.blocks_before_last();
    growing_ = growing;
    if (grew)
        text_.append(text.substr(text_.size()));
    else
        text_ = text;
    return kept;
}

std::vector<MarkdownBlock> plain_blocks(std::string_view text) {
    MarkdownBlock block;
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    block.content.append(text, style_plain);
    return {std::move(block)};
}

}  // namespace octavo
