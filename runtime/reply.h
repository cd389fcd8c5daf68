// Writes one reply: prefills the prompt, then samples and decodes until the turn, the limit or the context ends.
//
// Threads: the engine's thread.
#pragma once

#include "models/model.h"
#include "runtime/generation_writer.h"
#include "runtime/prompt.h"
#include "runtime/session.h"

namespace octavo {

// `model` is where stop tokens and text come from. A cancel is a report with what there was, not an error.
Result<GenerationReport> write_reply(const Model& model, Session& session, const PreparedPrompt& prompt,
                                     const GenerateRequest& request, GenerationWriter& writer);

}  // namespace octavo
