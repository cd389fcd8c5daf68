#include "models/tensors/quote_name.h"

#include <fmt/format.h>

namespace octavo {
namespace {

constexpr size_t kLongestShown = 120;

}  // namespace

std::string quote_name(std::string_view name) {
    std::string shown = "'";
    for (const char c : name.substr(0, kLongestShown)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            shown += c;
        } else {
            shown += fmt::format("\\x{:02x}", byte);
        }
    }
    if (name.size() > kLongestShown) shown += "...";
    return shown + "'";
}

}  // namespace octavo
