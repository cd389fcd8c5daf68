// Hands an address to whatever the desktop opens addresses with.
//
// Threads: waits for that program to take it; not on the interface's thread.
#pragma once

#include <string>

#include "kernels/base/error.h"

namespace octavo {

// http:// and https:// only: a model's text must not start anything else. ErrorKind::usage for others, io where no
// program takes it.
Status open_link(const std::string& address);

}  // namespace octavo
