// The inverse of read_hybrid_config: a description as GGUF metadata.
//
// Threads: pure function. Source: model_spec section 9.1. Non-goal: YaRN.
#pragma once

#include "models/gguf/header_writer.h"
#include "models/hybrid/config_reader.h"

namespace octavo {

// `theta`: base of the rotary frequencies.
void write_hybrid_config(const HybridDescription& description, double theta, GgufHeaderWriter& header);

}  // namespace octavo
