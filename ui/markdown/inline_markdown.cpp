#include "ui/markdown/inline_markdown.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace octavo {
namespace {

constexpr size_t kMostOpeners = 64;      // that are waiting for their end at once
constexpr size_t kLongestAddress = 512;  // bytes of a link

// A piece of text in one style, or a run of emphasis marks that may turn out to be just text.
struct Node {
    std::string text = {};
    uint8_t style = style_plain;
    int32_t link = -1;
    char mark = 0;  // '*', '_', '~'; 0: not a run of marks
    int count = 0;  // marks that are not used
    bool opens = false;
    bool closes = false;
    // How many of each style begin (or end, negative) before this node.
    int strong = 0;
    int emphasis = 0;
    int struck = 0;
};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }
bool is_punctuation(char c) { return std::strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) != nullptr && c != '\0'; }
bool is_word(char c) { return c != '\0' && !is_space(c) && !is_punctuation(c); }

class InlineParser {
  public:
    InlineParser(std::string_view text, bool growing) : text_(text), growing_(growing) {}

    StyledText parse() {
        while (at_ < text_.size()) step();
        if (growing_) close_what_is_open();
        return assemble();
    }

  private:
    void step() {
        const size_t plain_end = std::min(text_.find_first_of("\\`*_~[!<&h", at_), text_.size());
        if (plain_end > at_) {
            add_text(text_.substr(at_, plain_end - at_));
            at_ = plain_end;
            return;
        }
        const bool taken = [this] {
            switch (text_[at_]) {
                case '\\': return take_escape();
                case '`': return take_code();
                case '*':
                case '_':
                case '~': return take_marks();
                case '!':
                case '[': return take_link();
                case '<': return take_angle();
                case '&': return take_entity();
                default: return take_bare_link();
            }
        }();
        if (!taken) add_text(text_.substr(at_++, 1));
    }

    char char_at(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
    char before(size_t at) const { return at > 0 ? text_[at - 1] : '\0'; }

    void add_text(std::string_view text, uint8_t style = style_plain, int32_t link = -1) {
        if (!nodes_.empty() && nodes_.back().mark == 0 && nodes_.back().style == style && nodes_.back().link == link) {
            nodes_.back().text += text;
            return;
        }
        nodes_.push_back({.text = std::string(text), .style = style, .link = link});
    }

    bool take_escape() {
        if (!is_punctuation(char_at(at_ + 1))) return false;
        add_text(text_.substr(at_ + 1, 1));
        at_ += 2;
        return true;
    }

    bool take_code() {
        const size_t marks_end = std::min(text_.find_first_not_of('`', at_), text_.size());
        const size_t marks = marks_end - at_;
        size_t close = find_code_end(marks_end, marks);
        const bool closed = close != std::string_view::npos;
        if (!closed && (!growing_ || marks_end == text_.size())) {
            add_text(text_.substr(at_, marks));
            at_ = marks_end;
            return true;
        }
        if (!closed) close = text_.size();
        std::string code(text_.substr(marks_end, close - marks_end));
        std::replace(code.begin(), code.end(), '\n', ' ');
        // `` `a` `` has a space at each side so that the marks do not touch.
        if (code.size() > 2 && code.front() == ' ' && code.back() == ' ') code = code.substr(1, code.size() - 2);
        add_text(code, style_code);
        at_ = closed ? close + marks : close;
        return true;
    }

    // Where a run of exactly `marks` begins. What was looked for in vain is remembered, so that text full of such runs
    // is not searched again and again.
    size_t find_code_end(size_t from, size_t marks) {
        if (marks < code_ends_.size() && code_ends_[marks]) return std::string_view::npos;
        while (true) {
            const size_t begin = text_.find('`', from);
            if (begin == std::string_view::npos) break;
            from = std::min(text_.find_first_not_of('`', begin), text_.size());
            if (from - begin == marks) return begin;
        }
        if (marks < code_ends_.size()) code_ends_[marks] = true;
        return std::string_view::npos;
    }

    bool take_marks() {
        const char mark = text_[at_];
        const size_t end = std::min(text_.find_first_not_of(mark, at_), text_.size());
        const auto count = static_cast<int>(end - at_);
        const char left = before(at_);
        const char right = char_at(end);
        const bool left_edge = right != '\0' && !is_space(right) && (!is_punctuation(right) || !is_word(left));
        const bool right_edge = left != '\0' && !is_space(left) && (!is_punctuation(left) || !is_word(right));
        Node node{.mark = mark, .count = count, .opens = left_edge, .closes = right_edge};
        if (mark == '_') {  // not inside of words: snake_case_names
            node.opens = left_edge && !is_word(left);
            node.closes = right_edge && !is_word(right);
        }
        if (mark == '~' && count != 2) node.opens = node.closes = false;
        at_ = end;
        nodes_.push_back(std::move(node));
        if (nodes_.back().closes) close_marks(nodes_.size() - 1);
        if (nodes_.back().opens && nodes_.back().count > 0) {
            if (openers_.size() == kMostOpeners) openers_.erase(openers_.begin());
            openers_.push_back(nodes_.size() - 1);
        }
        return true;
    }

    // Pairs the marks of a closing run with those of open ones, the newest first.
    void close_marks(size_t closer) {
        for (size_t i = openers_.size(); i-- > 0 && nodes_[closer].count > 0;) {
            Node& open = nodes_[openers_[i]];
            if (open.mark != nodes_[closer].mark) continue;
            while (open.count > 0 && nodes_[closer].count > 0) pair(openers_[i], closer);
            // What opened in between never closes.
            openers_.resize(open.count > 0 ? i + 1 : i);
        }
    }

    void pair(size_t opener, size_t closer) {
        Node& open = nodes_[opener];
        Node& close = nodes_[closer];
        const int used = open.count >= 2 && close.count >= 2 ? 2 : 1;
        int Node::*const style = open.mark == '~' ? &Node::struck : used == 2 ? &Node::strong : &Node::emphasis;
        open.count -= used;
        close.count -= used;
        nodes_[opener + 1].*style += 1;
        close.*style -= 1;
    }

    // Strong text of which only the beginning is there.
    void close_what_is_open() {
        nodes_.push_back({});
        for (const size_t opener : openers_)
            if (nodes_[opener].mark == '*' && nodes_[opener].count >= 2 && opener + 2 < nodes_.size()) {
                nodes_[opener].count -= 2;
                nodes_[opener + 1].strong += 1;
            }
        if (nodes_.size() < 2) return;
        Node& last = nodes_[nodes_.size() - 2];
        if (last.mark != 0) last.count = 0;  // a mark at the very end is about to mean something
    }

    // [words](address), ![words](address)
    bool take_link() {
        const size_t open = text_[at_] == '!' ? at_ + 1 : at_;
        if (char_at(open) != '[') return false;
        const size_t limit = std::min(text_.size(), open + kLongestAddress);
        const size_t close = text_.substr(0, limit).find_first_of("[]\n", open + 1);
        if (close == std::string_view::npos || text_[close] != ']' || char_at(close + 1) != '(') return false;
        const size_t address = close + 2;
        const size_t end = find_address_end(address);
        if (end == std::string_view::npos) return false;
        std::string_view words = text_.substr(open + 1, close - open - 1);
        std::string_view target = text_.substr(address, end - address);
        target = target.substr(0, target.find_first_of(" \n"));  // a title may follow
        if (words.empty()) words = target;
        add_link(words, target);
        at_ = end + 1;
        return true;
    }

    // The ')' that ends the address; brackets inside come in pairs.
    size_t find_address_end(size_t from) const {
        int depth = 0;
        for (size_t at = from; at < std::min(text_.size(), from + kLongestAddress); ++at) {
            if (text_[at] == '\n') break;
            if (text_[at] == '(') ++depth;
            if (text_[at] == ')' && depth-- == 0) return at;
        }
        return std::string_view::npos;
    }

    // <https://...>, <br>
    bool take_angle() {
        const size_t limit = std::min(text_.size(), at_ + kLongestAddress);
        const size_t close = text_.substr(0, limit).find_first_of(" \n>", at_);
        if (close == std::string_view::npos) return false;
        const std::string_view inside = text_.substr(at_ + 1, close - at_ - 1);
        if (text_[close] == '>' && (inside == "br" || inside == "br/")) {
            add_text("\n");
            at_ = close + 1;
            return true;
        }
        const bool address =
            inside.starts_with("http://") || inside.starts_with("https://") || inside.starts_with("mailto:");
        if (text_[close] != '>' || !address) return false;
        add_link(inside, inside);
        at_ = close + 1;
        return true;
    }

    bool take_bare_link() {
        const std::string_view rest = text_.substr(at_, kLongestAddress);
        if (is_word(before(at_)) || !(rest.starts_with("http://") || rest.starts_with("https://"))) return false;
        size_t end = std::min(rest.find_first_of(" \n\t<>\"`"), rest.size());
        while (end > 0 && std::strchr(".,;:!?*_~'", rest[end - 1]) != nullptr) --end;
        // A bracket that was opened before the address is closed after it.
        if (end > 0 && rest[end - 1] == ')' && rest.substr(0, end).find('(') == std::string_view::npos) --end;
        add_link(rest.substr(0, end), rest.substr(0, end));
        at_ += end;
        return true;
    }

    void add_link(std::string_view words, std::string_view address) {
        links_.emplace_back(address);
        std::string shown(words);
        std::erase_if(shown, [](char c) { return c == '*' || c == '`'; });
        add_text(shown.empty() ? std::string(address) : shown, style_link, static_cast<int32_t>(links_.size()) - 1);
    }

    bool take_entity() {
        static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> entities = {{{"&amp;", "&"},
                                                                                                   {"&lt;", "<"},
                                                                                                   {"&gt;", ">"},
                                                                                                   {"&quot;", "\""},
                                                                                                   {"&#39;", "'"},
                                                                                                   {"&apos;", "'"},
                                                                                                   {"&nbsp;", " "}}};
        for (const auto& [name, character] : entities)
            if (text_.substr(at_).starts_with(name)) {
                add_text(character);
                at_ += name.size();
                return true;
            }
        return false;
    }

    StyledText assemble() {
        StyledText styled;
        styled.links = std::move(links_);
        int strong = 0;
        int emphasis = 0;
        int struck = 0;
        for (const Node& node : nodes_) {
            strong += node.strong;
            emphasis += node.emphasis;
            struck += node.struck;
            const int style = node.style | (strong > 0 ? style_strong : 0) | (emphasis > 0 ? style_emphasis : 0) |
                              (struck > 0 ? style_struck : 0);
            if (node.mark != 0)
                styled.append(std::string(static_cast<size_t>(node.count), node.mark), static_cast<uint8_t>(style));
            else
                styled.append(node.text, static_cast<uint8_t>(style), node.link);
        }
        return styled;
    }

    std::string_view text_;
    bool growing_;
    size_t at_ = 0;
    std::vector<Node> nodes_;
    std::vector<size_t> openers_;  // indices of nodes_, oldest first
    std::vector<std::string> links_;
    std::array<bool, 32> code_ends_{};  // by number of marks: none follows
};

}  // namespace

StyledText parse_inline(std::string_view text, bool growing) { return InlineParser(text, growing).parse(); }

}  // namespace octavo
