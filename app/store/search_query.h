// What a person typed into the search field, as words, and the words' places in a text.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octavo {

// What the trigram index knows: words of this many characters or more.
constexpr size_t kIndexedCharacters = 3;

struct SearchWords {
    std::vector<std::string> indexed;
    std::vector<std::string> brief;  // of one or two characters
};

// Split at white space; what stands between quotation marks is one word. Bytes that are not UTF-8 match nothing and
// are left out.
SearchWords search_words(std::string_view query);

// For MATCH of FTS5: texts that have all trigrams of all words, which may stand anywhere in them.
std::string match_expression(const std::vector<std::string>& words);
// Whether all words are in the text, in any case (of Latin, Greek and Cyrillic letters).
bool has_words(std::string_view text, const SearchWords& words);
// For LIKE ... ESCAPE '\': anywhere in the text.
std::string like_pattern(std::string_view word);

// One line of the text around the first of the words that is found (in ASCII, in any case), else its beginning.
std::string search_excerpt(std::string_view text, const SearchWords& words);

}  // namespace octavo
