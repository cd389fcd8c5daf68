// A byte-level BPE vocabulary that needs no source: the 256 bytes, a few merges, the added tokens that chat templates
// use, and unused tokens up to the wanted size.
//
// Threads: pure function. Source: model_spec section 10; the mapping of bytes to characters is GPT-2's.
#pragma once

#include <string_view>

#include "models/gguf/header_writer.h"

namespace octavo {

// `first_added`: id of <|endoftext|>. `split_rule`: tokenizer.ggml.pre.
void write_byte_vocabulary(int vocab, int first_added, std::string_view split_rule, GgufHeaderWriter& header);

}  // namespace octavo
