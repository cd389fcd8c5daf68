// Any bytes, as a reply that comes in two parts: parsed as it grows it must equal what the whole gives, and every
// block's spans must cover its text.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "models/tokenizer/utf8.h"
#include "ui/markdown/markdown.h"
#include "ui/text/clean_text.h"

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

void check_spans(const octavo::StyledText& styled) {
    uint32_t at = 0;
    for (const octavo::TextSpan& span : styled.spans) {
        check(span.begin == at && span.end > span.begin);
        check(span.link < static_cast<int32_t>(styled.links.size()));
        at = span.end;
    }
    check(at == styled.text.size());
    check(octavo::is_valid_utf8(styled.text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string whole = octavo::clean_text(bytes);
    const std::string first = octavo::clean_text(bytes.substr(0, bytes.size() * data[0] / 256));

    octavo::MarkdownDocument grown;
    grown.update(first, true);
    grown.update(whole, false);
    octavo::MarkdownDocument at_once;
    at_once.update(whole, false);
    check(grown.blocks().size() == at_once.blocks().size());
    for (size_t i = 0; i < grown.blocks().size(); ++i) {
        const octavo::MarkdownBlock& a = grown.blocks()[i];
        const octavo::MarkdownBlock& b = at_once.blocks()[i];
        check(a.kind == b.kind && a.marker == b.marker && a.list_depth == b.list_depth &&
              a.quote_depth == b.quote_depth);
        check(a.content.text == b.content.text && a.content.spans == b.content.spans);
        check(a.cells.size() == b.cells.size());
        check_spans(a.content);
        for (const octavo::StyledText& cell : a.cells) check_spans(cell);
    }
    return 0;
}
