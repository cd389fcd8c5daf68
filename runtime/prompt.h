// From messages to what a session reads: token ids, and the places in them that a person may come back to.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "models/model.h"
#include "runtime/generation.h"
#include "runtime/session.h"

namespace octavo {

struct PreparedPrompt {
    std::vector<int32_t> ids;
    std::vector<Anchor> anchors;
};

// ErrorKind::input where the model has no tokenizer or no chat template that is understood.
Result<PreparedPrompt> prepare_prompt(const Model& model, const ChatPrompt& prompt);

// The token that opens a message; -1 where the model has none.
int32_t turn_start_id(const Model& model);

// A checkpoint at the end of every message's documents, so that another question about them reads only the question.
// The last few tokens before the question are left out: tokens may span the border, and other ones with other
// questions.
std::vector<Anchor> document_anchors(const Tokenizer& tokenizer, const std::vector<Message>& messages,
                                     const std::vector<int32_t>& ids, int32_t turn_start);

// A checkpoint at the start of every message (so that an edit of message k reuses all before it, and a dialect that
// drops old thinking finds the state from before the reply), and at the end of the prompt (regenerate). The first
// message may be the system prompt.
std::vector<Anchor> prompt_anchors(const std::vector<int32_t>& ids, int32_t turn_start, bool has_system_prompt);

}  // namespace octavo
