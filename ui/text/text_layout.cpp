#include "ui/text/text_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/tokenizer/utf8.h"
#include "ui/text/clean_text.h"

namespace octavo {
namespace {

Face face_of(Face base, uint8_t style) {
    if (style & style_code) return Face::mono;
    if (base != Face::body) return base;  // headings and small print are of one face
    if (style & style_strong) return Face::strong;
    if (style & style_emphasis) return Face::italic;
    return base;
}

struct Character {
    char32_t code = 0;
    uint32_t bytes = 1;
};

Character read_character(std::string_view text, uint32_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) return {byte, 1};
    const Utf8Step step = read_utf8(text.substr(at, 4));
    return {step.kind == Utf8Step::Kind::character ? step.character : char32_t{0xFFFD},
            static_cast<uint32_t>(std::max(step.bytes, 1))};
}

float advance_of(const ImFont& font, char32_t code) {
    if (code == '\t') return font.GetCharAdvance(' ') * 4;
    return is_zero_width(code) ? 0 : font.GetCharAdvance(code);
}

ImU32 ink_of(const Theme& theme, const TextRun& run, const TextColours& colours) {
    if (run.link >= 0) return colours.link;
    if (run.style & style_comment) return theme.comment;
    if (run.style & style_string) return theme.string;
    return run.style & style_keyword ? theme.keyword : colours.text;
}

class Breaker {
  public:
    Breaker(Ui& ui, const StyledText& styled, const TextLayoutOptions& options)
        : ui_(ui), text_(styled.text), spans_(styled.spans), options_(options) {
        layout_.face = options.face;
        layout_.line_height = std::round(ui.font(options.face)->FontSize * options.spacing);
        begin_line(0);
    }

    TextLayout lay_out() {
        for (const TextSpan& span : spans_) lay_out_span(span);
        end_line(static_cast<uint32_t>(text_.size()));
        layout_.height = static_cast<float>(layout_.lines.size()) * layout_.line_height;
        return std::move(layout_);
    }

  private:
    void lay_out_span(const TextSpan& span) {
        span_ = span;
        face_ = face_of(options_.face, span.style);
        const ImFont& font = *ui_.font(face_);
        ui_.loader.see(face_, std::string_view(text_).substr(span.begin, span.end - span.begin));
        begin_run(span.begin);
        for (uint32_t at = span.begin; at < span.end;) {
            const Character character = read_character(text_, at);
            if (character.code == '\n') {
                end_line(at);
                begin_line(at + 1);
                begin_run(at + 1);
            } else {
                add(font, character, at);
            }
            at += character.bytes;
        }
        end_run(span.end);
    }

    void add(const ImFont& font, const Character& character, uint32_t at) {
        const float advance = advance_of(font, character.code);
        if (character.code > 127 && advance > 0 && font.FindGlyphNoFallback(character.code) == nullptr)
            layout_.lacks_glyphs = true;
        const bool space = character.code == ' ' || character.code == '\t';
        const bool joined = is_combining(character.code);
        if (breaks_anywhere(character.code) && !joined && !joins_next_) mark_break(at, at);
        if (x_ + advance > options_.width && x_ > 0 && !joined && !(space && !options_.code)) break_line(at);
        if (is_zero_width(character.code)) {  // nothing is drawn for it
            end_run(at);
            begin_run(at + character.bytes);
        }
        x_ += advance;
        joins_next_ = character.code == 0x200D;
        const uint32_t after = at + character.bytes;
        if (space && !options_.code) mark_break(after, at);
        if ((character.code == '-' || character.code == '/') && !options_.code && x_ > options_.width / 4)
            mark_break(after, after);
        if (breaks_anywhere(character.code) && !joins_next_) mark_break(after, after);
    }

    // A line may end before byte `next`; what is between `shown_end` and there is white space.
    void mark_break(uint32_t next, uint32_t shown_end) {
        break_next_ = next;
        break_shown_end_ = shown_end;
        break_x_ = x_;
        break_run_ = layout_.runs.size();
        break_run_start_ = run_;
    }

    // Ends the line at the last possible place before byte `at`; in an overlong word, right there.
    void break_line(uint32_t at) {
        const bool possible = break_next_ > line_begin_ && !options_.code;
        if (!possible) {
            end_line(at);
            begin_line(at);
            begin_run(at);
            return;
        }
        // Runs that began after that place move to the next line.
        std::vector<TextRun> moved(layout_.runs.begin() + static_cast<std::ptrdiff_t>(break_run_), layout_.runs.end());
        layout_.runs.resize(break_run_);
        const TextRun open = run_;
        const float tail = x_ - break_x_;
        const float shift = break_x_;
        const uint32_t next = break_next_;
        run_ = break_run_start_;
        x_ = break_x_;
        end_line(break_shown_end_);
        begin_line(next);
        for (TextRun& run : moved) {
            run.x -= shift;
            if (run.begin < next) {
                run.width -= 0 - run.x;
                run.x = 0;
                run.begin = next;
            }
            if (run.begin < run.end) layout_.runs.push_back(run);
        }
        run_ = open;
        if (run_.begin < next) {
            run_.begin = next;
            run_.x = 0;
        } else {
            run_.x -= shift;
        }
        x_ = tail;
    }

    void begin_line(uint32_t at) {
        line_begin_ = at;
        break_next_ = at;
        x_ = 0;
        layout_.lines.push_back({.y = static_cast<float>(layout_.lines.size()) * layout_.line_height,
                                 .first_run = static_cast<uint32_t>(layout_.runs.size()),
                                 .begin = at});
    }

    void end_line(uint32_t at) {
        end_run(at);
        TextLine& line = layout_.lines.back();
        line.end = std::max(at, line.begin);
        line.runs = static_cast<uint32_t>(layout_.runs.size()) - line.first_run;
        if (line.runs > 0) layout_.widest = std::max(layout_.widest, layout_.runs.back().x + layout_.runs.back().width);
    }

    void begin_run(uint32_t at) {
        run_ = {.x = x_, .begin = at, .face = face_, .style = span_.style, .link = span_.link};
    }

    void end_run(uint32_t at) {
        if (at <= run_.begin) return;
        run_.end = at;
        run_.width = x_ - run_.x;
        layout_.runs.push_back(run_);
        run_.begin = at;
        run_.x = x_;
    }

    Ui& ui_;
    const std::string& text_;
    const std::vector<TextSpan>& spans_;
    TextLayoutOptions options_;
    TextLayout layout_;

    TextSpan span_;
    Face face_ = Face::body;
    TextRun run_;  // that is being written
    float x_ = 0;
    bool joins_next_ = false;
    uint32_t line_begin_ = 0;
    // The last place where this line could end.
    uint32_t break_next_ = 0;
    uint32_t break_shown_end_ = 0;
    float break_x_ = 0;
    size_t break_run_ = 0;
    TextRun break_run_start_;
};

}  // namespace

TextLayout lay_out_text(Ui& ui, const StyledText& styled, const TextLayoutOptions& options) {
    return Breaker(ui, styled, options).lay_out();
}

float x_of(Ui& ui, const StyledText& styled, const TextLayout& layout, const TextLine& line, uint32_t at) {
    float end = 0;
    for (uint32_t i = 0; i < line.runs; ++i) {
        const TextRun& run = layout.runs[line.first_run + i];
        if (at < run.begin) return i == 0 ? run.x : end;
        end = run.x + run.width;
        if (at >= run.end) continue;
        float x = run.x;
        const ImFont& font = *ui.font(run.face);
        for (uint32_t byte = run.begin; byte < at;) {
            const Character character = read_character(styled.text, byte);
            x += advance_of(font, character.code);
            byte += character.bytes;
        }
        return x;
    }
    return end;
}

uint32_t byte_at(Ui& ui, const StyledText& styled, const TextLayout& layout, float x, float y) {
    const auto index = std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(std::floor(y / layout.line_height)), 0,
                                                  static_cast<std::ptrdiff_t>(layout.lines.size()) - 1);
    const TextLine& line = layout.lines[static_cast<size_t>(index)];
    for (uint32_t i = 0; i < line.runs; ++i) {
        const TextRun& run = layout.runs[line.first_run + i];
        const bool last = i + 1 == line.runs;
        if (x >= run.x + run.width && !last) continue;
        float left = run.x;
        const ImFont& font = *ui.font(run.face);
        for (uint32_t byte = run.begin; byte < run.end;) {
            const Character character = read_character(styled.text, byte);
            const float advance = advance_of(font, character.code);
            if (x < left + advance / 2) return byte;
            left += advance;
            byte += character.bytes;
        }
        if (last) return run.end;
    }
    return line.end;
}

const TextRun* run_at(const TextLayout& layout, float x, float y) {
    if (y < 0 || y >= layout.height) return nullptr;
    const TextLine& line = layout.lines[static_cast<size_t>(y / layout.line_height)];
    for (uint32_t i = 0; i < line.runs; ++i) {
        const TextRun& run = layout.runs[line.first_run + i];
        if (x >= run.x && x < run.x + run.width) return &run;
    }
    return nullptr;
}

std::pair<size_t, size_t> lines_between(const TextLayout& layout, float top, float bottom) {
    const auto count = static_cast<float>(layout.lines.size());
    const float first = std::clamp(std::floor(top / layout.line_height), 0.0f, count);
    const float last = std::clamp(std::ceil(bottom / layout.line_height), first, count);
    return {static_cast<size_t>(first), static_cast<size_t>(last)};
}

void draw_text(Ui& ui, ImDrawList& list, const StyledText& styled, const TextLayout& layout, ImVec2 origin, float top,
               float bottom, const TextColours& colours) {
    const auto [first, last] = lines_between(layout, top - origin.y, bottom - origin.y);
    const ImFont& base = *ui.font(layout.face);
    const float leading = (layout.line_height - base.FontSize) / 2;
    for (size_t i = first; i < last; ++i) {
        const TextLine& line = layout.lines[i];
        const float y = origin.y + line.y;
        for (uint32_t r = line.first_run; r < line.first_run + line.runs; ++r) {
            const TextRun& run = layout.runs[r];
            ImFont* font = ui.font(run.face);
            const float left = std::floor(origin.x + run.x);
            const float right = origin.x + run.x + run.width;
            if ((run.style & style_code) != 0 && colours.code_surface != 0)
                list.AddRectFilled({left - ui.px(2), y + ui.px(2)},
                                   {right + ui.px(2), y + layout.line_height - ui.px(2)}, colours.code_surface,
                                   ui.px(4));
            const ImU32 ink = ink_of(ui.theme, run, colours);
            const char* begin = styled.text.data() + run.begin;
            // Faces of one line stand on one base line.
            const float rise = base.Ascent - font->Ascent;
            list.AddText(font, font->FontSize, {left, std::floor(y + leading + rise)}, ink, begin,
                         styled.text.data() + run.end);
            if (run.link >= 0)
                list.AddRectFilled({left, std::floor(y + layout.line_height - ui.px(4))},
                                   {right, std::floor(y + layout.line_height - ui.px(4)) + 1}, with_alpha(ink, 0.5f));
            if ((run.style & style_struck) != 0)
                list.AddRectFilled({left, std::floor(y + layout.line_height * 0.52f)},
                                   {right, std::floor(y + layout.line_height * 0.52f) + 1}, ink);
        }
    }
}

void draw_selection(Ui& ui, ImDrawList& list, const StyledText& styled, const TextLayout& layout, ImVec2 origin,
                    float top, float bottom, uint32_t begin, uint32_t end) {
    const auto [first, last] = lines_between(layout, top - origin.y, bottom - origin.y);
    for (size_t i = first; i < last; ++i) {
        const TextLine& line = layout.lines[i];
        const uint32_t next = i + 1 < layout.lines.size() ? layout.lines[i + 1].begin : line.end + 1;
        if (end <= line.begin || begin >= next) continue;
        const float left = begin <= line.begin ? 0 : x_of(ui, styled, layout, line, begin);
        float right = x_of(ui, styled, layout, line, std::min(end, line.end));
        if (end > line.end) right += ui.px(5);  // the line end is selected too
        list.AddRectFilled({origin.x + left, origin.y + line.y},
                           {origin.x + right, origin.y + line.y + layout.line_height}, ui.theme.selection);
    }
}

}  // namespace octavo
