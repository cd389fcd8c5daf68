// The text that models are calibrated on: prose, facts, numbers, code and talk, made up from a seed.
//
// Threads: a pure function.
#pragma once

#include <string>

namespace octavo {

// Paragraph `index` (0, 1, ...), some hundred characters; the same for ever.
std::string calibration_paragraph(int index);

}  // namespace octavo
