#include "runtime/recall/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "runtime/recall/seeded_choice.h"

namespace octavo {
namespace {

constexpr std::string_view kCodeNames[] = {
    "access code", "door code",  "secret code", "launch code",   "entry code",   "gate code",      "badge code",
    "unlock code", "vault code", "pass code",   "override code", "control code", "security token", "activation key"};
constexpr std::string_view kNumberNames[] = {"magic number", "lucky number", "member number", "account number",
                                             "badge number"};
constexpr std::string_view kAdjectives[] = {"northern", "southern", "eastern", "western", "old",   "new",
                                            "upper",    "lower",    "red",     "white",   "green", "stone",
                                            "wooden",   "royal",    "hidden",  "quiet"};
constexpr std::string_view kPlaces[] = {
    "lighthouse", "harbour", "mill",     "library",  "observatory", "bakery",     "museum", "station",
    "castle",     "orchard", "chapel",   "workshop", "tower",       "archive",    "barn",   "quarry",
    "bridge",     "garden",  "pavilion", "cellar",   "granary",     "greenhouse", "stable", "brewery",
    "foundry",    "kiosk",   "hangar",   "pier",     "vineyard",    "theatre",    "hostel", "windmill"};
constexpr std::string_view kPeople[] = {"Orla",  "Tomas", "Ingrid", "Ravi",  "Mei",    "Anselm", "Petra", "Juno",
                                        "Idris", "Leda",  "Bruno",  "Clara", "Dario",  "Edith",  "Felix", "Greta",
                                        "Hugo",  "Irene", "Jonas",  "Katya", "Lukas",  "Maeve",  "Nadia", "Oskar",
                                        "Pavel", "Ronja", "Stefan", "Tilda", "Ursula", "Viktor"};
// None of a named needle.
constexpr std::string_view kCodeWords[] = {
    "AMBER",   "BADGER", "BEACON",  "COBALT",  "DRAGON",  "EMBER",  "FERN",   "GLACIER", "GRANITE", "HARBOR", "HAZEL",
    "INDIGO",  "JASPER", "JUNIPER", "KESTREL", "LOTUS",   "MARBLE", "MEADOW", "NECTAR",  "ONYX",    "ORCHID", "PEPPER",
    "PRAIRIE", "RAVEN",  "SAFFRON", "SUMMIT",  "THISTLE", "UMBER",  "VELVET", "WILLOW",  "YARROW",  "ZEPHYR"};
constexpr std::string_view kColours[] = {"green", "blue",   "yellow", "purple", "orange", "brown",
                                         "grey",  "silver", "pink",   "black",  "golden", "scarlet"};
constexpr std::string_view kAnimals[] = {"heron", "badger", "otter", "lynx",   "salmon", "beetle",   "swan",  "goat",
                                         "crane", "hare",   "mole",  "magpie", "weasel", "tortoise", "moose", "finch"};
constexpr std::string_view kTowns[] = {"Trento",  "Bergen", "Cork",   "Delft", "Evora", "Fulda",  "Genoa",  "Huesca",
                                       "Ipswich", "Jena",   "Kassel", "Lucca", "Malmo", "Nantes", "Odense", "Porto"};

// "access code of the northern mill": what a value belongs to.
struct Key {
    std::string attribute;
    std::string of;  // "of the northern mill", "for Orla"
    std::string text() const { return attribute + " " + of; }
};

class FactMaker {
  public:
    FactMaker(const RecallPlan& plan, uint64_t seed) : plan_(plan), choice_(seed) {
        places_.assign(std::begin(kPlaces), std::end(kPlaces));
        people_.assign(std::begin(kPeople), std::end(kPeople));
        choice_.shuffle(places_);
        choice_.shuffle(people_);
        for (const Named& needle : kNamed) values_.insert(std::string(needle.value));
    }

    FactSet make() {
        plant_one_place_families();
        for (const RecallFamily family : recall_families(plan_)) {
            if (family == RecallFamily::named) plant_named();
            if (family == RecallFamily::multi_value) repeat(kGroups, [this] { plant_multi_value(); });
            if (family == RecallFamily::tracking) repeat(kChains, [this] { plant_tracking(); });
        }
        if (plan_.controls) {
            plant_zone_probe(FactPlace::start);
            plant_zone_probe(FactPlace::end);
            repeat(kAbsentQuestions, [this] { ask_absent(RecallPurpose::absent); });
        }
        return std::move(set_);
    }

    std::vector<RecallQuestion> make_bare() {
        repeat(kAbsentQuestions, [this] { ask_absent(RecallPurpose::bare); });
        return std::move(set_.questions);
    }

  private:
    static constexpr int kGroups = 3;
    static constexpr int kGroupValues = 3;
    static constexpr int kChains = 2;
    static constexpr int kHops = 4;
    static constexpr int kAbsentQuestions = 10;
    struct Named {
        std::string_view attribute, of, value;
        double share;
    };
    static constexpr Named kNamed[] = {{"secret code", "for the walrus enclosure", "WALRUS-CANARY-2247", 0.25},
                                       {"maintenance token", "for bay 7", "QUARTZ-DELTA-8813", 0.50},
                                       {"launch phrase", "of the northern outpost", "TUNDRA-FALCON-6631", 0.90}};

    template <class Work>
    static void repeat(int count, Work work) {
        for (int i = 0; i < count; ++i) work();
    }

    // Keys and values, each once.

    Key fresh_code_key() {
        for (;;) {
            const Key key =
                code_key(choice_.pick(kCodeNames), choice_.pick(kAdjectives), places_[next_place_++ % places_.size()]);
            if (keys_.insert(key.text()).second) return key;
        }
    }
    static Key code_key(std::string_view attribute, std::string_view adjective, std::string_view place) {
        return {std::string(attribute), fmt::format("of the {} {}", adjective, place)};
    }
    Key fresh_number_key() {
        for (;;) {
            const std::string_view person = people_[next_person_ % people_.size()];
            const size_t round = next_person_++ / people_.size();
            const Key key =
                round == 0
                    ? Key{std::string(kNumberNames[0]), fmt::format("for {}", person)}
                    : Key{std::string(choice_.pick(kNumberNames)),
                          fmt::format("for {} of the {} {}", person, choice_.pick(kAdjectives), choice_.pick(kPlaces))};
            if (keys_.insert(key.text()).second) return key;
        }
    }
    std::string fresh_code() {
        for (;;) {
            const std::string_view first = choice_.pick(kCodeWords);
            const std::string_view second = choice_.pick(kCodeWords);
            const std::string code = fmt::format("{}-{}-{}", first, second, 1000 + choice_.below(9000));
            if (first != second && values_.insert(code).second) return code;
        }
    }
    std::string fresh_number(int64_t least) {
        for (;;) {
            const std::string number = fmt::format("{}", least + choice_.below(9 * least));
            if (values_.insert(number).second) return number;
        }
    }

    // Facts and questions.

    void plant(const Key& key, const std::string& value, double share, int question = -1) {
        set_.facts.push_back({.sentence = fmt::format("The {} is {}.", key.text(), value),
                              .value = value,
                              .share = share,
                              .question = question});
    }
    int ask(RecallFamily family, const Key& key, std::vector<std::string> expected,
            RecallPurpose purpose = RecallPurpose::score) {
        RecallQuestion question;
        question.purpose = purpose;
        question.family = family;
        question.text = fmt::format("What is the {}?", key.text());
        question.expected = std::move(expected);
        // What is not there cannot be denied after such a beginning.
        const bool planted = purpose != RecallPurpose::absent && purpose != RecallPurpose::bare;
        if (plan_.answer_prefix && planted) question.answer_prefix = fmt::format("The {} is", key.text());
        set_.questions.push_back(std::move(question));
        return static_cast<int>(set_.questions.size()) - 1;
    }
    void plant_and_ask(RecallFamily family, const Key& key, const std::string& value, double share) {
        plant(key, value, share, ask(family, key, {value}));
    }

    // The needles of the plan: by weight over its families with one place, but for the named ones.
    void plant_one_place_families() {
        struct Weight {
            RecallFamily family;
            int weight;
        };
        constexpr Weight weights[] = {{RecallFamily::word_code, 3},
                                      {RecallFamily::digits, 3},
                                      {RecallFamily::multi_key, 2},
                                      {RecallFamily::buried, 2}};
        const std::vector<RecallFamily> wanted = recall_families(plan_);
        std::vector<RecallFamily> cycle;
        for (const Weight& entry : weights)
            if (std::find(wanted.begin(), wanted.end(), entry.family) != wanted.end())
                cycle.insert(cycle.end(), static_cast<size_t>(entry.weight), entry.family);
        if (cycle.empty()) return;

        std::vector<RecallFamily> needles;
        int buried = 0;
        // Rounds of the cycle, each in an order of its own, so that every family is at every depth.
        for (int i = 0; i < plan_.needles;) {
            choice_.shuffle(cycle);
            for (const RecallFamily family : cycle) {
                if (i++ == plan_.needles) break;
                if (family == RecallFamily::buried)
                    plant_buried(buried++);
                else
                    needles.push_back(family);
            }
        }
        const auto count = static_cast<double>(needles.size());
        for (size_t i = 0; i < needles.size(); ++i) {
            const double within = static_cast<double>(choice_.below(1024)) / 1024;
            plant_spread(needles[i], (static_cast<double>(i) + within) / count);
            set_.facts.back().straddle = straddle_of(i);
        }
    }

    static Straddle straddle_of(size_t index) {
        if (index % 3 != 1) return Straddle::none;
        switch (index / 3 % 4) {
            case 1: return Straddle::chunk;
            case 2: return Straddle::page;
            default: return Straddle::group;
        }
    }

    // Plants the needle last.
    void plant_spread(RecallFamily family, double share) {
        if (family == RecallFamily::digits)
            return plant_and_ask(family, fresh_number_key(), fresh_number(1'000'000), share);
        if (family == RecallFamily::word_code) return plant_and_ask(family, fresh_code_key(), fresh_code(), share);
        const std::string_view place = places_[next_place_++ % places_.size()];
        const std::vector<Key> keys = look_alikes(place);
        plant(keys[1], fresh_code(), random_share());
        plant(keys[2], fresh_code(), random_share());
        plant_and_ask(family, keys[0], fresh_code(), share);
    }
    // A key, the same for another place of the kind, and another key of the same place.
    std::vector<Key> look_alikes(std::string_view place) {
        for (;;) {
            const std::string_view name = choice_.pick(kCodeNames);
            const std::string_view adjective = choice_.pick(kAdjectives);
            const std::vector<Key> keys = {code_key(name, adjective, place),
                                           code_key(name, choice_.pick(kAdjectives), place),
                                           code_key(choice_.pick(kCodeNames), adjective, place)};
            if (keys[0].text() == keys[1].text() || keys[0].text() == keys[2].text()) continue;
            if (std::any_of(keys.begin(), keys.end(), [this](const Key& key) { return keys_.contains(key.text()); }))
                continue;
            for (const Key& key : keys) keys_.insert(key.text());
            return keys;
        }
    }
    double random_share() { return static_cast<double>(choice_.below(1024)) / 1024; }

    // By turns in the middle and at the end; answers of one word.
    void plant_buried(int index) {
        const double within = random_share();
        const double share = index % 2 == 0 ? 0.45 + 0.1 * within : 0.92 + 0.08 * within;
        struct Kind {
            std::string_view attribute;
            std::span<const std::string_view> values;
        };
        static constexpr Kind kinds[] = {{"door colour", kColours}, {"mascot", kAnimals}, {"place of origin", kTowns}};
        const Kind& kind = kinds[index / 2 % 3];
        for (;;) {
            const Key key =
                code_key(kind.attribute, choice_.pick(kAdjectives), places_[next_place_++ % places_.size()]);
            if (!keys_.insert(key.text()).second) continue;
            return plant_and_ask(RecallFamily::buried, key, std::string(choice_.pick(kind.values)), share);
        }
    }

    void plant_named() {
        for (const Named& needle : kNamed) {
            const Key key{std::string(needle.attribute), std::string(needle.of)};
            plant_and_ask(RecallFamily::named, key, std::string(needle.value), needle.share);
            set_.facts.back().place = FactPlace::of_length;
        }
    }

    void plant_multi_value() {
        const Key key = fresh_code_key();
        const std::string of = key.of.substr(key.of.find(' ') + 1);
        std::vector<std::string> values;
        for (int i = 0; i < kGroupValues; ++i) {
            values.push_back(fresh_code());
            set_.facts.push_back({.sentence = fmt::format("One {} for {} is {}.", key.attribute, of, values.back()),
                                  .value = values.back(),
                                  .share = (i + random_share()) / kGroupValues});
        }
        ask(RecallFamily::multi_value, key, values);
        RecallQuestion& question = set_.questions.back();
        question.text = fmt::format("List all {}s for {}.", key.attribute, of);
        if (plan_.answer_prefix) question.answer_prefix = fmt::format("The {}s for {} are", key.attribute, of);
    }

    void plant_tracking() {
        const std::string value = fresh_number(10'000);
        std::string previous;
        for (int i = 0; i <= kHops; ++i) {
            const std::string name = fresh_name();
            const std::string from = i == 0 ? value : "VAR " + previous;
            set_.facts.push_back({.sentence = fmt::format("VAR {} = {}", name, from),
                                  .value = i == 0 ? value : previous,
                                  .share = (i + random_share()) / (kHops + 1)});
            previous = name;
        }
        ask(RecallFamily::tracking, {"value", "of " + previous}, {value});
    }
    std::string fresh_name() {
        for (;;) {
            std::string name;
            for (int i = 0; i < 5; ++i) name += static_cast<char>('A' + choice_.below(26));
            if (values_.insert(name).second) return name;
        }
    }

    void plant_zone_probe(FactPlace place) {
        const Key key = fresh_code_key();
        const std::string value = fresh_code();
        plant(key, value, 0, ask(RecallFamily::word_code, key, {value}, RecallPurpose::zone));
        set_.facts.back().place = place;
    }

    void ask_absent(RecallPurpose purpose) { ask(RecallFamily::word_code, fresh_code_key(), {}, purpose); }

    const RecallPlan& plan_;
    SeededChoice choice_;
    std::vector<std::string_view> places_;
    std::vector<std::string_view> people_;
    size_t next_place_ = 0;
    size_t next_person_ = 0;
    std::set<std::string> keys_;
    std::set<std::string> values_;
    FactSet set_;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

FactSet make_facts(const RecallPlan& plan, uint64_t seed) { return FactMaker(plan, seed).make(); }

std::vector<RecallQuestion> make_bare_questions(uint64_t seed) { return FactMaker({}, seed).make_bare(); }

bool looks_like_a_code(const std::string& answer) {
    // Capitals, a hyphen and a capital or a digit; or four digits and more in a row.
    size_t digits = 0;
    for (size_t i = 0; i < answer.size(); ++i) {
        digits = is_digit(answer[i]) ? digits + 1 : 0;
        if (digits == 4) return true;
        const bool hyphen = answer[i] == '-' && i > 0 && i + 1 < answer.size();
        if (hyphen && is_upper(answer[i - 1]) && (is_upper(answer[i + 1]) || is_digit(answer[i + 1]))) return true;
    }
    return false;
}

}  // namespace octavo
