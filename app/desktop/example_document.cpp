#include "app/desktop/example_document.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/sampler.h"

namespace octavo {
namespace {

constexpr size_t kBytes = 40000;

// In wordings that the bundled model knows best (its README).
struct Fact {
    std::string_view statement;
    std::string_view question;
};
constexpr Fact kFacts[] = {
    {"The access code of the lighthouse is QUARTZ-DELTA-8813.", "What is the access code of the lighthouse?"},
    {"The magic number for Orla is 4823901.", "What is the magic number for Orla?"},
    {"The access code of the observatory is WALRUS-CANARY-2247.", "What is the access code of the observatory?"},
};

constexpr std::string_view kWho[] = {"The harbour master", "A young sailor", "The baker's wife", "An old pilot",
                                     "The clerk",          "A fisherman",    "The carpenter",    "The ferryman",
                                     "A travelling smith", "The watchman"};
constexpr std::string_view kWhat[] = {
    "counted the boats",         "mended a torn net",      "wrote to his brother about the herring",
    "carried oil to the tower",  "measured the tide",      "painted the railing once more",
    "asked after the mail ship", "sold the last potatoes", "tarred the hull of the cutter",
    "sorted ropes by length",    "lit the stove",          "looked for the missing anchor"};
constexpr std::string_view kWhen[] = {"before sunrise",          "while it rained",        "after the bell had rung",
                                      "in spite of the wind",    "until it grew dark",     "as on every Friday",
                                      "and spoke to no one",     "and laughed about it",   "with a borrowed lantern",
                                      "though it was a holiday", "when the fog came down", "for the third time"};

std::string_view pick(RandomStream& random, std::span<const std::string_view> words) {
    return words[random.next() % words.size()];
}

std::string entry(RandomStream& random, int day) {
    std::string text = fmt::format("Day {}. ", day);
    for (int i = 0; i < 4; ++i)
        text += fmt::format("{} {} {}. ", pick(random, kWho), pick(random, kWhat), pick(random, kWhen));
    return text;
}

}  // namespace

std::string example_document_name() { return "harbour-diary.txt"; }

std::string example_document() {
    RandomStream random(7);
    std::string text = "Diary of the harbour\n\n";
    size_t told = 0;
    for (int day = 1; text.size() < kBytes; ++day) {
        text += entry(random, day);
        const size_t due = (told + 1) * kBytes / (std::size(kFacts) + 1);
        if (told < std::size(kFacts) && text.size() >= due) text += kFacts[told++].statement;
        text += "\n\n";
    }
    return text;
}

std::vector<std::string> example_questions() {
    std::vector<std::string> questions;
    for (const Fact& fact : kFacts) questions.emplace_back(fact.question);
    return questions;
}

}  // namespace octavo
