#include "app/store/title.h"

#include "app/store/message_tree.h"
#include "app/terminal/text_width.h"

namespace octavo {
namespace {

constexpr int kMaxColumns = 60;
constexpr char32_t kZeroWidthJoiner = 0x200d;

// White space runs become one space; control characters go. No more than is needed for a title is looked at.
std::string one_line(std::string_view text) {
    std::string line;
    bool space = false;
    for (size_t at = 0; at < text.size() && line.size() < size_t{8} * kMaxColumns;) {
        const TextCharacter character = character_at(text, at);
        if (character.code <= ' ' || character.code == 0x7f || character.code == 0xa0 || character.code == 0x3000) {
            space = !line.empty();
        } else {
            if (space) line += ' ';
            space = false;
            line += text.substr(at, character.bytes);
        }
        at += character.bytes;
    }
    return line;
}

bool is_regional_indicator(char32_t code) { return code >= 0x1f1e6 && code <= 0x1f1ff; }
bool is_skin_tone(char32_t code) { return code >= 0x1f3fb && code <= 0x1f3ff; }

}  // namespace

std::string title_from(std::string_view text) {
    const std::string line = one_line(text);
    int columns = 0;
    size_t cut = 0;       // after the last whole character that fits
    size_t word_end = 0;  // after the last whole word that fits
    char32_t previous = 0;
    bool pair_open = false;  // of two regional indicators, which make a flag
    for (size_t at = 0; at < line.size();) {
        const TextCharacter character = character_at(line, at);
        const bool second_of_pair = is_regional_indicator(character.code) && pair_open;
        const bool joins =
            character.columns == 0 || previous == kZeroWidthJoiner || is_skin_tone(character.code) || second_of_pair;
        if (!joins) cut = at;
        if (character.code == ' ') word_end = at;
        columns += joins ? 0 : character.columns;
        if (columns > kMaxColumns) return line.substr(0, word_end > cut / 2 ? word_end : cut) + "…";
        pair_open = is_regional_indicator(character.code) && !second_of_pair;
        previous = character.code;
        at += character.bytes;
    }
    return line;
}

std::string title_from(const StoredMessage& message) {
    std::string title = title_from(message.text);
    if (title.empty() && !message.attachments.empty()) title = title_from(message.attachments.front().name);
    return title;
}

std::string title_of(const StoredConversation& conversation) {
    for (const StoredMessage* message : shown_messages(conversation))
        if (message->role == Role::user) return title_from(*message);
    return "";
}

}  // namespace octavo
