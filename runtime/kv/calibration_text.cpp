#include "runtime/kv/calibration_text.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace octavo {
namespace {

using Words = std::array<std::string_view, 16>;

constexpr Words kPeople = {"the miller", "a young doctor", "my neighbour", "the old captain", "Ines",  "Mr. Hallam",
                           "a student",  "the committee",  "her brother",  "the pilot",       "Tomas", "the librarian",
                           "nobody",     "the engineer",   "our teacher",  "Queen Edda"};
constexpr Words kVerbs = {"found",  "carried", "sold",   "described", "repaired", "forgot",  "painted",  "measured",
                          "wanted", "lost",    "copied", "answered",  "opened",   "watched", "rejected", "explained"};
constexpr Words kThings = {"a brass compass", "the last letter", "two heavy boxes", "the eastern gate",
                           "an empty boat",   "the wrong map",   "a jar of honey",  "the new engine",
                           "his répertoire",  "a café table",    "the whole field", "some green glass",
                           "the long bridge", "a broken clock",  "the first draft", "its own shadow"};
constexpr Words kTails = {
    "before the rain came",    "in the winter of 1783",  "because the road was closed", "and said nothing about it",
    "near the harbour",        "although it was late",   "for less than forty dollars", "without asking anybody",
    "after the third attempt", "while the others slept", "as the report had stated",    "on the way to Lübeck",
    "with great care",         "under a grey sky",       "which surprised us all",      "until the lamps went out"};
constexpr Words kNames = {"count", "total", "index", "buffer", "weight", "offset", "result", "limit",
                          "first", "cells", "width", "mean",   "scale",  "error",  "query",  "token"};

class Writer {
  public:
    explicit Writer(uint64_t seed) : state_(seed) {}

    std::string sentence() {
        std::string text = fmt::format("{} {} {} {}", pick(kPeople), pick(kVerbs), pick(kThings), pick(kTails));
        if (below(3) == 0) text += fmt::format(", and {} {} {}", pick(kPeople), pick(kVerbs), pick(kThings));
        if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
        return text + (below(8) == 0 ? "! " : ". ");
    }
    std::string fact() {
        return fmt::format("The number of {} is {}; the code is {}-{}-{}. ", pick(kNames), below(10000000),
                           upper(pick(kNames)), upper(pick(kNames)), below(10000));
    }
    std::string code() {
        const std::string_view name = pick(kNames);
        return fmt::format("    for (int i = 0; i < {}; ++i) {{ {}[i] += {} * {}.{:03}f; }}  // {}\n", below(4096),
                           name, pick(kNames), below(9), below(1000), pick(kTails));
    }
    std::string talk() {
        return fmt::format("\"Have you seen {}?\" asked {}. \"Yes, {}.\"\n", pick(kThings), pick(kPeople),
                           pick(kTails));
    }
    std::string row() {
        return fmt::format("| {} | {} | {}.{:02} | {}% |\n", pick(kNames), below(100000), below(500), below(100),
                           below(101));
    }

  private:
    uint64_t below(uint64_t count) {  // SplitMix64
        uint64_t x = state_ += 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return (x ^ (x >> 31)) % count;
    }
    std::string_view pick(const Words& words) { return words[below(words.size())]; }
    static std::string upper(std::string_view word) {
        std::string text(word);
        for (char& letter : text) letter = static_cast<char>(letter - 'a' + 'A');
        return text;
    }

    uint64_t state_;
};

using Part = std::string (Writer::*)();
constexpr std::array<Part, 8> kParts = {&Writer::sentence, &Writer::fact, &Writer::sentence, &Writer::code,
                                        &Writer::sentence, &Writer::talk, &Writer::sentence, &Writer::row};

}  // namespace

std::string calibration_paragraph(int index) {
    constexpr int kPieces = 8;
    Writer writer(static_cast<uint64_t>(index) * 1000 + 7);
    const Part part = kParts[static_cast<size_t>(index) % kParts.size()];
    std::string text;
    for (int i = 0; i < kPieces; ++i) text += (writer.*part)();
    return text + "\n";
}

}  // namespace octavo
