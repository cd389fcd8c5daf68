// Where a command's results and complaints go.
//
// Standard output carries results only; with JSON there, nothing but JSON. Everything said to a person besides goes to
// standard error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "app/options.h"
#include "app/output_target.h"
#include "kernels/base/error.h"

namespace octavo {

// Text for a person, on standard output; silent when JSON goes there.
void print_result(const JsonOption& json, std::string_view text);

// "octavo: MESSAGE" on standard error.
void print_error(std::string_view message);

// Says the error and gives the exit code that belongs to it.
int fail(const Error& error);

// The end of every command: where standard output could not take all of it, says so and turns success into failure.
// (A reader that leaves, as `head` does, ends the program by SIGPIPE before.)
int end_output(int exit_code);

// Whether the file of --json can be written, and holds nothing but JSON now. Call it before the work starts.
Status check_json_target(const JsonOption& json);

// Whether the file of --json is another one than `output`, which the command writes too.
Status check_json_apart(const JsonOption& json, const std::filesystem::path& output);

Status write_json_text(const JsonOption& json, const std::string& text);

// Writes a nlohmann::json where JSON is wanted (a template, so that this header need not know the library); broken
// UTF-8 becomes U+FFFD. Gives `exit_code`, or the code of what went wrong in writing.
template <class Json>
int finish(const JsonOption& option, const Json& json, int exit_code = 0) {
    if (!option.wanted) return exit_code;
    const Status written = write_json_text(option, json.dump(-1, ' ', false, Json::error_handler_t::replace));
    return written ? exit_code : fail(written.error());
}

}  // namespace octavo
