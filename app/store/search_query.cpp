#include "app/store/search_query.h"

#include <algorithm>
#include <set>

#include "app/terminal/text_width.h"
#include "app/text_file.h"

namespace octavo {
namespace {

constexpr size_t kExcerptBefore = 40;  // bytes, about
constexpr size_t kExcerptBytes = 160;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// Simple case folding of the scripts in which people write capitals most.
char32_t fold(char32_t c) {
    if (c < 0x80) return static_cast<unsigned char>(lower(static_cast<char>(c)));
    const bool latin_1 = c >= 0xc0 && c <= 0xde && c != 0xd7;
    const bool greek = c >= 0x391 && c <= 0x3a9;
    const bool cyrillic = c >= 0x410 && c <= 0x42f;
    if (latin_1 || greek || cyrillic) return c + 0x20;
    if (c >= 0x400 && c <= 0x40f) return c + 0x50;
    const bool even_is_capital = (c >= 0x100 && c <= 0x137 && c != 0x130) || (c >= 0x14a && c <= 0x177) ||
                                 (c >= 0x460 && c <= 0x481) || (c >= 0x48a && c <= 0x4bf) ||
                                 (c >= 0x1e00 && c <= 0x1e95) || (c >= 0x1ea0 && c <= 0x1eff);
    const bool odd_is_capital = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e);
    if (even_is_capital && c % 2 == 0) return c + 1;
    if (odd_is_capital && c % 2 == 1) return c + 1;
    return c;
}

std::u32string fold(std::string_view text) {
    std::u32string folded;
    folded.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const TextCharacter character = character_at(text, at);
        folded += fold(character.code);
        at += character.bytes;
    }
    return folded;
}

size_t character_count(std::string_view text) {
    size_t count = 0;
    for (size_t at = 0; at < text.size(); at += character_at(text, at).bytes) ++count;
    return count;
}

void add_word(SearchWords& words, std::string_view word) {
    if (word.empty() || find_invalid_utf8(word) != std::string_view::npos) return;
    (character_count(word) < kIndexedCharacters ? words.brief : words.indexed).emplace_back(word);
}

size_t find_word(std::string_view text, std::string_view word) {
    const auto found = std::search(text.begin(), text.end(), word.begin(), word.end(),
                                   [](char a, char b) { return lower(a) == lower(b); });
    return found == text.end() ? std::string_view::npos : static_cast<size_t>(found - text.begin());
}

// The nearest start of a character at or before `at`.
size_t character_start(std::string_view text, size_t at) {
    while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
    return at;
}

}  // namespace

SearchWords search_words(std::string_view query) {
    SearchWords words;
    for (size_t at = 0; at < query.size();) {
        if (is_space(query[at])) {
            ++at;
            continue;
        }
        const bool quoted = query[at] == '"';
        const size_t begin = quoted ? at + 1 : at;
        const size_t end =
            std::min(quoted ? query.find('"', begin) : query.find_first_of(" \t\n\r\"", begin), query.size());
        add_word(words, query.substr(begin, end - begin));
        at = quoted ? end + 1 : end;
    }
    return words;
}

std::string match_expression(const std::vector<std::string>& words) {
    std::set<std::string_view> trigrams;
    for (const std::string& word : words) {
        std::vector<size_t> starts;  // of the characters, and the end
        for (size_t at = 0; at < word.size(); at += character_at(word, at).bytes) starts.push_back(at);
        starts.push_back(word.size());
        for (size_t i = 0; i + kIndexedCharacters < starts.size(); ++i)
            trigrams.insert(std::string_view(word).substr(starts[i], starts[i + kIndexedCharacters] - starts[i]));
    }
    std::string expression;
    for (const std::string_view trigram : trigrams) {
        if (!expression.empty()) expression += " AND ";
        expression.append("\"").append(trigram).append("\"");  // has no quotation marks, see search_words
    }
    return expression;
}

bool has_words(std::string_view text, const SearchWords& words) {
    const std::u32string folded = fold(text);
    for (const auto* list : {&words.indexed, &words.brief})
        for (const std::string& word : *list)
            if (folded.find(fold(word)) == std::u32string::npos) return false;
    return true;
}

std::string like_pattern(std::string_view word) {
    std::string pattern = "%";
    for (const char c : word) {
        if (c == '%' || c == '_' || c == '\\') pattern += '\\';
        pattern += c;
    }
    return pattern + '%';
}

std::string search_excerpt(std::string_view text, const SearchWords& words) {
    size_t found = std::string_view::npos;
    for (const auto* list : {&words.indexed, &words.brief})
        for (const std::string& word : *list)
            if (found == std::string_view::npos) found = find_word(text, word);
    if (found == std::string_view::npos) found = 0;
    const size_t begin = found > kExcerptBefore ? character_start(text, found - kExcerptBefore) : 0;
    const size_t end = character_start(text, std::min(begin + kExcerptBytes, text.size()));
    std::string excerpt = begin > 0 ? "…" : "";
    for (const char c : text.substr(begin, end - begin)) excerpt += is_space(c) ? ' ' : c;
    if (end < text.size()) excerpt += "…";
    return excerpt;
}

}  // namespace octavo
