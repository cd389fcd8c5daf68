#include "app/desktop/open_link_platform.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace octavo {

Status open_link(const std::string& address) {
    if (!address.starts_with("https://") && !address.starts_with("http://"))
        return Error{ErrorKind::usage, "Only http and https addresses are opened from a text."};
    std::string program = "xdg-open";
    std::string argument = address;
    char* arguments[] = {program.data(), argument.data(), nullptr};
    pid_t child = 0;
    int status = 0;
    const bool started = posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0;
    if (!started || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return Error{ErrorKind::io, fmt::format("No program here opens {}: copy the address instead.", address)};
    return {};
}

}  // namespace octavo
