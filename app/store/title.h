// The title that a conversation gets from its first message.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "app/store/records.h"

namespace octavo {

// The text in one line, cut after a word at about 60 columns with "…" behind. A character and what combines with it
// stay together. Empty where the text is white space only.
std::string title_from(std::string_view text);

// Of the first message of a person: of its text, else the name of its first attachment.
std::string title_from(const StoredMessage& message);
std::string title_of(const StoredConversation& conversation);

}  // namespace octavo
