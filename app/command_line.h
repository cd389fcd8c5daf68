// The command line of the program: which commands exist, what runs when none is named, how bad usage is told.
//
// Non-goal: options of a command; each command file has its own.
#pragma once

namespace octavo {

// Returns the exit code of the process: 0 ok, 1 a check failed, 2 bad usage or input, 3 out of memory or device
// trouble, 130 cancelled.
int run_command_line(int argc, char** argv);

}  // namespace octavo
