// Unicode normalisation form C: what looks the same becomes the same characters ("e" and an acute accent become "é").
//
// Any bytes: broken UTF-8 stays as it is and stands between what is normalised. Time is n log n at worst.
// Threads: pure function.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

// Whether text may change; false needs one look at its bytes only.
bool may_need_nfc(std::string_view text);

std::string to_nfc(std::string_view text);

}  // namespace octavo
