#include "runtime/measure/sample_text.h"

#include <fmt/core.h>

#include <span>
#include <string_view>
#include <vector>

#include "runtime/sampler.h"

namespace octavo {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kPlaces[] = {"lighthouse", "harbour",  "mill",    "library", "observatory",
                                        "bakery",     "museum",   "station", "castle",  "orchard",
                                        "chapel",     "workshop", "tower",   "archive"};
constexpr std::string_view kPeople[] = {"Orla",   "Tomas", "Ingrid", "Ravi",  "Mei",
                                        "Anselm", "Petra", "Juno",   "Idris", "Leda"};
constexpr std::string_view kCodeWords[] = {"QUARTZ",  "DELTA",  "WALRUS", "CANARY", "EMBER",   "FALCON",
                                           "GRANITE", "HAZEL",  "INDIGO", "JASPER", "KESTREL", "LOTUS",
                                           "MARBLE",  "NECTAR", "ONYX",   "PEPPER"};
constexpr std::string_view kSubjects[] = {"the old keeper",        "a young sailor",        "the village baker",
                                          "the miller's daughter", "a tired clerk",         "the carpenter",
                                          "the head of the guild", "a stranger with a lamp"};
constexpr std::string_view kDeeds[] = {"counted the boats",      "mended a torn net",     "read the letter twice",
                                       "carried bread to",       "spoke softly about",    "drew a map of",
                                       "waited for news from",   "wrote a long list for", "walked slowly towards",
                                       "remembered the year of", "closed the shutters of"};
constexpr std::string_view kObjects[] = {"the northern road", "the market square", "the frozen river",
                                         "the stone bridge",  "the quiet garden",  "the last harvest",
                                         "the great storm",   "the narrow valley"};
constexpr std::string_view kEndings[] = {"before the sun was up",         "while the rain fell on the roofs",
                                         "because nobody else would",     "as people had always done there",
                                         "and said nothing of it after",  "until the bells rang for evening",
                                         "although the wind was against", "with a smile that few had seen"};

struct Fact {
    std::string statement;
    std::string question;
    std::string answer;
};

class Writer {
  public:
    explicit Writer(uint64_t seed) : random_(seed) {}

    std::string paragraph() {
        std::string text;
        const int64_t sentences = 3 + below(5);
        for (int64_t i = 0; i < sentences; ++i) text += sentence();
        if (below(2) == 0) {
            facts_.push_back(fact());
            text += facts_.back().statement + " ";
            text += sentence();
        }
        text += "\n\n";
        if (!facts_.empty() && below(3) == 0) {
            const Fact& asked = facts_[static_cast<size_t>(below(std::ssize(facts_)))];
            text += fmt::format("{}\n{}\n\n", asked.question, asked.answer);
        }
        return text;
    }

  private:
    int64_t below(int64_t count) { return static_cast<int64_t>(random_.next() % static_cast<uint64_t>(count)); }
    std::string_view pick(Words words) { return words[static_cast<size_t>(below(std::ssize(words)))]; }

    std::string sentence() {
        std::string text = fmt::format("{} {} {} {}. ", pick(kSubjects), pick(kDeeds), pick(kObjects), pick(kEndings));
        text[0] = static_cast<char>(text[0] - 'a' + 'A');
        return text;
    }

    Fact fact() {
        if (below(2) == 0) {
            const std::string_view place = pick(kPlaces);
            const std::string code = fmt::format("{}-{}-{}", pick(kCodeWords), pick(kCodeWords), 1000 + below(9000));
            return {fmt::format("The access code of the {} is {}.", place, code),
                    fmt::format("What is the access code of the {}?", place), code};
        }
        const std::string_view person = pick(kPeople);
        const std::string number = fmt::format("{}", 1000000 + below(9000000));
        return {fmt::format("The magic number for {} is {}.", person, number),
                fmt::format("What is the magic number for {}?", person), number};
    }

    RandomStream random_;
    std::vector<Fact> facts_;
};

}  // namespace

std::string sample_text(uint64_t seed, size_t min_bytes) {
    Writer writer(seed);
    std::string text;
    while (text.size() < min_bytes) text += writer.paragraph();
    return text;
}

}  // namespace octavo
