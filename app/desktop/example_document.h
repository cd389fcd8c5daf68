// The example that an empty window offers: a long document with facts to ask for.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

namespace octavo {

std::string example_document_name();
// About 40 KB; the same every time.
std::string example_document();
// Each has its answer in the document.
std::vector<std::string> example_questions();

}  // namespace octavo
