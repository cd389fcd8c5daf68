// A name from a file, made safe to show: quoted, bytes outside printable ASCII as \xNN, long names cut.
#pragma once

#include <string>
#include <string_view>

namespace octavo {

std::string quote_name(std::string_view name);

}  // namespace octavo
