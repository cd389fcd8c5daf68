#include "models/tokenizer/special_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace octavo {
namespace {

Status check_id(std::string_view key, int32_t id, int32_t vocab_size) {
    if (id >= -1 && id < vocab_size) return {};
    return Error{ErrorKind::input,
                 fmt::format("The tokenizer's {} is {}, but its vocabulary has {} tokens.", key, id, vocab_size)};
}

}  // namespace

Status check_special_ids(const SpecialIds& ids, int32_t vocab_size) {
    const std::pair<std::string_view, int32_t> named[] = {{"eos_token_id", ids.end_of_text},
                                                          {"eot_token_id", ids.end_of_turn},
                                                          {"padding_token_id", ids.padding},
                                                          {"unknown_token_id", ids.unknown}};
    for (const auto& [key, id] : named)
        if (Status status = check_id(key, id, vocab_size); !status) return status;
    for (const int32_t id : ids.stops)
        if (Status status = check_id("eos_token_id", id, vocab_size); !status) return status;
    return {};
}

std::vector<int32_t> find_stop_ids(const SpecialIds& ids, const TokenMatcher& specials) {
    std::vector<int32_t> stops;
    const auto add = [&](int32_t id) {
        if (id >= 0) stops.push_back(id);
    };
    for (const int32_t id :
         {ids.end_of_text, ids.end_of_turn, specials.find("<|im_end|>"), specials.find("<|endoftext|>")})
        add(id);
    for (const int32_t id : ids.stops) add(id);
    std::sort(stops.begin(), stops.end());
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    return stops;
}

}  // namespace octavo
