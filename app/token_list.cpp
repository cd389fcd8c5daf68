#include "app/token_list.h"

#include <fmt/format.h>

#include <charconv>

namespace octavo {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

Error no_number(std::string_view whole, std::string_view rest) {
    const std::string place =
        rest.empty() ? "its end" : fmt::format("place {} ('{}')", rest.data() - whole.data(), rest.substr(0, 12));
    return {ErrorKind::usage, fmt::format("the list of token ids has no number at {}.", place)};
}

}  // namespace

Result<std::vector<int32_t>> parse_token_list(std::string_view text) {
    std::string_view rest = trimmed(text);
    if (rest.starts_with('[') && rest.ends_with(']')) rest = trimmed(rest.substr(1, rest.size() - 2));
    if (rest.empty()) return Error{ErrorKind::usage, "the list of token ids is empty."};
    std::vector<int32_t> ids;
    for (;;) {
        int32_t id = 0;
        const auto [next, error] = std::from_chars(rest.data(), rest.data() + rest.size(), id);
        if (error != std::errc()) return no_number(text, rest);
        ids.push_back(id);
        const std::string_view after = rest.substr(static_cast<size_t>(next - rest.data()));
        if (after.empty()) return ids;
        // Between two numbers: space, or one comma with or without space.
        std::string_view follows = trimmed(after);
        const bool comma = follows.starts_with(',');
        if (!comma && !is_space(after.front())) return no_number(text, after);
        rest = comma ? trimmed(follows.substr(1)) : follows;
    }
}

std::string token_list_text(const std::vector<int32_t>& ids) {
    std::string text;
    for (const int32_t id : ids) text += fmt::format("{}{}", text.empty() ? "" : ", ", id);
    return text;
}

Status check_token_ids(const std::vector<int32_t>& ids, int vocab_size) {
    for (size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || ids[i] >= vocab_size)
            return Error{ErrorKind::usage, fmt::format("token id {} (number {} of the list) is not in the vocabulary, "
                                                       "which ends at {}.",
                                                       ids[i], i + 1, vocab_size - 1)};
    return {};
}

}  // namespace octavo
