// Text with the markup taken out of it, and where which style holds.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {

enum TextStyle : uint8_t {
    style_plain = 0,
    style_strong = 1,
    style_emphasis = 2,
    style_code = 4,
    style_struck = 8,
    style_link = 16,
    style_keyword = 32,  // the last three within code
    style_string = 64,
    style_comment = 128,
};

struct TextSpan {
    uint32_t begin = 0;  // bytes of StyledText::text
    uint32_t end = 0;
    uint8_t style = style_plain;
    int32_t link = -1;  // index into StyledText::links

    bool operator==(const TextSpan&) const = default;
};

struct StyledText {
    std::string text;             // valid UTF-8
    std::vector<TextSpan> spans;  // in order, side by side, all of the text
    std::vector<std::string> links;

    void append(std::string_view more, uint8_t style, int32_t link = -1);
    void append(const StyledText& more);
};

}  // namespace octavo
