// Lists of token ids as text: "1, 2, 3", "1 2 3" or a JSON array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace octavo {

Result<std::vector<int32_t>> parse_token_list(std::string_view text);
std::string token_list_text(const std::vector<int32_t>& ids);

// Every id must be one of the vocabulary; the error names the first that is not, and where it stands.
Status check_token_ids(const std::vector<int32_t>& ids, int vocab_size);

}  // namespace octavo
