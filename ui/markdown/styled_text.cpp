#include "ui/markdown/styled_text.h"

#include <string_view>

namespace octavo {

void StyledText::append(std::string_view more, uint8_t style, int32_t link) {
    if (more.empty()) return;
    const auto begin = static_cast<uint32_t>(text.size());
    text += more;
    const auto end = static_cast<uint32_t>(text.size());
    if (!spans.empty() && spans.back().style == style && spans.back().link == link)
        spans.back().end = end;
    else
        spans.push_back({begin, end, style, link});
}

void StyledText::append(const StyledText& more) {
    const auto first_link = static_cast<int32_t>(links.size());
    links.insert(links.end(), more.links.begin(), more.links.end());
    for (const TextSpan& span : more.spans)
        append(std::string_view(more.text).substr(span.begin, span.end - span.begin), span.style,
               span.link < 0 ? -1 : span.link + first_link);
}

}  // namespace octavo
