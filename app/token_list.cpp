#include "app/token_list.h"

#include <fmt/format.h>

#include <charconv>

namespace octavo {

Result<std::vector<int32_t>> parse_token_list(std::string_view text) {
    std::vector<int32_t> ids;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        if (std::string_view(" ,\t\r\n[]").find(*at) != std::string_view::npos) {
            ++at;
            continue;
        }
        int32_t id = 0;
        const auto [next, error] = std::from_chars(at, end, id);
        if (error != std::errc())
            return Error{ErrorKind::usage, fmt::format("the list of token ids has no number at place {} ('{}').",
                                                       at - text.data(), std::string(at, std::min(at + 12, end)))};
        ids.push_back(id);
        at = next;
    }
    if (ids.empty()) return Error{ErrorKind::usage, "the list of token ids is empty."};
    return ids;
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
