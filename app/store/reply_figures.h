// How a reply came about: from the engine's report, and as JSON in the file and in exports.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "app/store/records.h"
#include "runtime/generation.h"

namespace octavo {

// `model`: the name of what wrote the reply.
ReplyFigures figures_of(const GenerationReport& report, const std::string& model);

std::string figures_json(const ReplyFigures& figures);  // fields that are 0 or empty are left out
// Fields that are missing or of another type keep their default; false where it is not a JSON object at all.
bool parse_figures(std::string_view json, ReplyFigures& figures);

}  // namespace octavo
