#include "runtime/recall/haystack.h"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string_view>

#include "runtime/recall/seeded_choice.h"

namespace octavo {
namespace {

// An operations log, stamped with a clock that only goes forward; hence no line twice.
class LogHaystack : public Haystack {
  public:
    explicit LogHaystack(uint64_t seed) : choice_(seed) {}

    std::optional<std::string> next_line() override { return stamp() + event() + "\n"; }
    std::string fact_line(const std::string& sentence) override {
        std::string fact = sentence;
        if (fact.starts_with("The ")) fact[0] = 't';
        if (fact.ends_with('.')) fact.pop_back();
        return "NOTE: " + fact + "\n";
    }

  private:
    std::string stamp() {
        seconds_ += 1 + choice_.below(40);
        return fmt::format("{:02}:{:02}:{:02} ", seconds_ / 3600, seconds_ / 60 % 60, seconds_ % 60);
    }

    std::string event() {
        static constexpr std::string_view machines[] = {"web", "db", "cache", "mail", "queue", "build", "edge", "auth"};
        static constexpr std::string_view things[] = {"volume", "backup", "report",  "index",  "session", "archive",
                                                      "batch",  "ledger", "invoice", "parcel", "ticket",  "snapshot"};
        static constexpr std::string_view states[] = {"opened",  "closed",   "started", "finished", "moved",
                                                      "checked", "verified", "queued",  "renewed",  "released"};
        const std::string machine = fmt::format("{}-{}", choice_.pick(machines), 1 + choice_.below(40));
        const std::string_view thing = choice_.pick(things);
        switch (choice_.below(6)) {
            case 0: return fmt::format("INFO [{}] request {} took {} ms", machine, number(99999), number(900));
            case 1: return fmt::format("DEBUG [{}] {} {} {}", machine, thing, number(9999), choice_.pick(states));
            case 2: return fmt::format("WARN [{}] {} {} is late by {} s", machine, thing, number(9999), number(90));
            case 3: return fmt::format("INFO [{}] link to {} is up", machine, choice_.pick(machines));
            case 4: return fmt::format("INFO [{}] sensor {} reads {} degrees", machine, number(99), number(40));
            default: return fmt::format("DEBUG [{}] freed {} MB in {} ms", machine, number(900), number(90));
        }
    }
    int64_t number(int64_t most) { return 1 + choice_.below(most); }

    SeededChoice choice_;
    int64_t seconds_ = 0;
};

// Paragraphs of sentences; a sentence that was there before is drawn again.
class ProseHaystack : public Haystack {
  public:
    explicit ProseHaystack(uint64_t seed) : choice_(seed) {}

    std::optional<std::string> next_line() override {
        std::string line;
        const int64_t sentences = 1 + choice_.below(3);
        for (int64_t i = 0; i < sentences; ++i) line += (i > 0 ? " " : "") + fresh_sentence();
        return line + "\n";
    }
    std::string fact_line(const std::string& sentence) override { return sentence + "\n"; }

  private:
    std::string fresh_sentence() {
        for (int tries = 0; tries < 8; ++tries) {
            std::string made = sentence();
            if (seen_.insert(made).second) return made;
        }
        return fmt::format("That was entry {} of the chronicle.", seen_.size() + 1 + repeats_++);
    }

    std::string sentence() {
        static constexpr std::string_view who[] = {
            "The old keeper",  "A young sailor",   "The baker's son", "The carpenter",     "A tired clerk",
            "The widow",       "A stranger",       "The schoolgirl",  "The night watch",   "The fiddler",
            "A retired judge", "The gardener",     "The twin",        "A quiet traveller", "The cook",
            "The ferryman",    "A distant cousin", "The weaver"};
        static constexpr std::string_view did[] = {
            "counted the boats near",     "drew a map of",          "waited for news from",  "walked slowly towards",
            "spoke softly about",         "remembered the year of", "swept the leaves from", "carried bread across",
            "looked for a lost dog in",   "painted a picture of",   "wrote a letter about",  "measured the shadow of",
            "heard strange music behind", "sold two horses near",   "fell asleep beside",    "kept a diary about",
            "dreamed for a week of",      "told the children about"};
        static constexpr std::string_view where[] = {
            "the frozen river", "the market square", "the stone bridge",  "the narrow valley", "the last harvest",
            "the great storm",  "the quiet garden",  "the northern road", "the burnt barn",    "the long wall",
            "the chalk hills",  "the empty chapel",  "the orchard gate",  "the deep well",     "the winter fair",
            "the broken mill",  "the high meadow",   "the tall hedge"};
        static constexpr std::string_view when[] = {
            "before the sun was up",     "while the rain fell",          "because nobody else would",
            "as people had always done", "and said nothing of it",       "until the bells rang",
            "when the wind turned",      "after the first snow",         "and came home late",
            "with a lamp in one hand",   "though the road was bad",      "as if time stood still",
            "and then laughed",          "for the third time that year", "and forgot the hour",
            "while the others slept",    "to everybody's surprise",      "and was never asked why"};
        return fmt::format("{} {} {} {}.", choice_.pick(who), choice_.pick(did), choice_.pick(where),
                           choice_.pick(when));
    }

    SeededChoice choice_;
    std::set<std::string> seen_;
    int64_t repeats_ = 0;
};

// A person's text, cut at its line ends; long lines at the ends of sentences, or where a word ends.
class FileHaystack : public Haystack {
  public:
    explicit FileHaystack(const std::string& text) : text_(text) {}

    std::optional<std::string> next_line() override {
        while (at_ < text_.size()) {
            const size_t end = piece_end();
            std::string line = text_.substr(at_, end - at_);
            at_ = end;
            while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) line.pop_back();
            if (!line.empty()) return line + "\n";
        }
        return std::nullopt;
    }
    std::string fact_line(const std::string& sentence) override { return sentence + "\n"; }

  private:
    static constexpr size_t kLongestLine = 400;  // bytes

    size_t piece_end() const {
        const size_t newline = text_.find('\n', at_);
        const size_t line_end = newline == std::string::npos ? text_.size() : newline + 1;
        if (line_end - at_ <= kLongestLine) return line_end;
        const std::string_view line = std::string_view(text_).substr(at_, kLongestLine);
        if (const size_t stop = line.rfind(". "); stop != std::string_view::npos) return at_ + stop + 2;
        if (const size_t space = line.rfind(' '); space != std::string_view::npos && space > 0) return at_ + space + 1;
        size_t end = at_ + kLongestLine;
        while (end < line_end && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;  // inside a character
        return end;
    }

    const std::string& text_;
    size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Haystack> make_haystack(RecallHaystack kind, uint64_t seed, const std::string& text) {
    switch (kind) {
        case RecallHaystack::log: return std::make_unique<LogHaystack>(seed);
        case RecallHaystack::prose: return std::make_unique<ProseHaystack>(seed);
        case RecallHaystack::file: return std::make_unique<FileHaystack>(text);
    }
    return nullptr;
}

}  // namespace octavo
