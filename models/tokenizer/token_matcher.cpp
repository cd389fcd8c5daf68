#include "models/tokenizer/token_matcher.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

namespace octavo {

void TokenMatcher::add(std::string_view name, int32_t id) {
    if (!ids_.try_emplace(std::string(name), id).second) return;
    std::vector<std::size_t>& lengths = lengths_[static_cast<unsigned char>(name[0])];
    const auto place = std::lower_bound(lengths.begin(), lengths.end(), name.size(), std::greater<>());
    if (place == lengths.end() || *place != name.size()) lengths.insert(place, name.size());
}

TokenMatcher::Match TokenMatcher::match(std::string_view text) const {
    if (text.empty()) return {};
    for (const std::size_t length : lengths_[static_cast<unsigned char>(text[0])]) {
        if (length > text.size()) continue;
        if (const auto found = ids_.find(text.substr(0, length)); found != ids_.end()) return {found->second, length};
    }
    return {};
}

int32_t TokenMatcher::find(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? -1 : found->second;
}

namespace {

class Cutter {
  public:
    explicit Cutter(const TokenMatcher& specials) : specials_(&specials) {}

    void add_markup(std::string_view text) {
        std::size_t start = 0;
        for (std::size_t at = 0; at < text.size();) {
            const TokenMatcher::Match match = specials_->match(text.substr(at));
            if (match.id < 0) {
                ++at;
                continue;
            }
            add_text(text.substr(start, at - start));
            ids().push_back(match.id);
            at += match.bytes;
            start = at;
        }
        add_text(text.substr(start));
    }

    void add_text(std::string_view text) {
        if (text.empty()) return;
        if (stretches_.empty() || !stretches_.back().ids.empty()) stretches_.emplace_back();
        stretches_.back().text += text;
    }

    std::vector<int32_t>& ids() {
        if (stretches_.empty() || !stretches_.back().text.empty()) stretches_.emplace_back();
        return stretches_.back().ids;
    }

    std::vector<PromptStretch> take() { return std::move(stretches_); }

  private:
    const TokenMatcher* specials_;
    std::vector<PromptStretch> stretches_;
};

}  // namespace

Result<std::vector<PromptStretch>> cut_prompt(const std::vector<PromptPart>& parts, const TokenMatcher& specials,
                                              int vocab_size) {
    Cutter cutter(specials);
    for (const PromptPart& part : parts) {
        for (const int32_t id : part.ids)
            if (id < 0 || id >= vocab_size)
                return Error{ErrorKind::input,
                             fmt::format("Token id {} is outside the vocabulary of {} tokens.", id, vocab_size)};
        if (!part.ids.empty()) {
            std::vector<int32_t>& ids = cutter.ids();
            ids.insert(ids.end(), part.ids.begin(), part.ids.end());
        } else if (part.markup) {
            cutter.add_markup(part.text);
        } else {
            cutter.add_text(part.text);
        }
    }
    return cutter.take();
}

}  // namespace octavo
