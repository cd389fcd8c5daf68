#include "runtime/recall/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "kernels/base/fnv_hash.h"
#include "runtime/recall/facts.h"
#include "runtime/recall/haystack.h"

namespace octavo {
namespace {

constexpr int64_t kGroupCells = 32;
constexpr int64_t kChunkCells = 512;
constexpr int64_t kPageCells = 1024;

int64_t border_of(Straddle straddle) {
    switch (straddle) {
        case Straddle::none: return 0;
        case Straddle::group: return kGroupCells;
        case Straddle::chunk: return kChunkCells;
        case Straddle::page: return kPageCells;
    }
    return 0;
}

// The chat template around one user message: what comes before its text, and after it.
struct Frame {
    std::vector<PromptPart> before;
    std::vector<PromptPart> after;
};

Result<Frame> chat_frame(const Model& model) {
    if (model.tokenizer == nullptr)
        return Error{ErrorKind::input, fmt::format("{} has no tokenizer, so it cannot read text.", model.name)};
    if (!model.chat) return Error{ErrorKind::input, fmt::format("{} has no chat template.", model.name)};
    const std::string content = "text";
    Result<std::vector<PromptPart>> parts =
        model.chat->render({{.role = Role::user, .content = content}}, {.thinking = false});
    if (!parts) return parts.error();
    const auto text = std::find_if(parts->begin(), parts->end(),
                                   [&](const PromptPart& part) { return !part.markup && part.text == content; });
    if (text == parts->end()) return Error{ErrorKind::input, "The chat template hides the user's text."};
    return Frame{{parts->begin(), text}, {text + 1, parts->end()}};
}

uint64_t hash_ids(std::span<const int32_t> ids) {
    FnvHash hash;
    for (const int32_t id : ids) hash.number(id);
    return hash.value();
}

// A fact as tokens, and which of them are its value.
struct FactLine {
    const PlantedFact* fact = nullptr;
    std::vector<int32_t> ids;
    CellRange value;  // within ids
    int64_t wanted = 0;
    int64_t latest = 0;
};

class DocumentWriter {
  public:
    DocumentWriter(const Model& model, const RecallPlan& plan, int64_t length, uint64_t seed)
        : tokenizer_(*model.tokenizer),
          length_(length),
          haystack_(make_haystack(plan.haystack, seed, plan.haystack_text)) {}

    Status begin(const Frame& frame) {
        Result<std::vector<int32_t>> header = tokenizer_.encode(frame.before);
        if (!header) return header.error();
        document_.ids = std::move(*header);
        Result<std::vector<int32_t>> newline = tokenizer_.encode_text("\n");
        if (!newline) return newline.error();
        newline_ = std::move(*newline);
        return {};
    }

    Status plant(const FactSet& facts, CellRange bulk) {
        document_.questions = facts.questions;
        bulk.first = std::max(bulk.first, position());
        Result<std::vector<FactLine>> lines = fact_lines(facts, bulk);
        if (!lines) return lines.error();
        for (const FactLine& line : *lines) {
            if (Status status = reach(line); !status) return status;
            add(line);
        }
        return {};
    }

    Result<RecallDocument> finish() {
        if (Status status = fill_exactly(length_); !status) return status.error();
        document_.hash = hash_ids(document_.ids);
        return std::move(document_);
    }

  private:
    int64_t position() const { return std::ssize(document_.ids); }

    // In the order in which they are written, each with the cell where it would like to start, and the last at which
    // it may so that those behind it still fit.
    Result<std::vector<FactLine>> fact_lines(const FactSet& facts, CellRange bulk) {
        std::vector<FactLine> lines;
        for (const PlantedFact& fact : facts.facts) {
            Result<FactLine> line = fact_line(fact);
            if (!line) return line.error();
            line->wanted = wanted_start(*line, bulk);
            lines.push_back(std::move(*line));
        }
        std::stable_sort(lines.begin(), lines.end(),
                         [](const FactLine& a, const FactLine& b) { return a.wanted < b.wanted; });
        int64_t end = length_ - 1;
        int64_t tokens = 0;
        for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
            const bool in_bulk = line->fact->place == FactPlace::spread;
            line->latest = (in_bulk ? std::min(end, bulk.end) : end) - std::ssize(line->ids);
            end = line->latest;
            tokens += std::ssize(line->ids);
        }
        if (end >= position()) return lines;
        return Error{ErrorKind::usage,
                     fmt::format("The needles, their look-alikes and the controls take {} tokens, and {} of a text of "
                                 "{} are read from the bulk under every setting: plant fewer needles, make the text "
                                 "longer, or the window smaller.",
                                 tokens, std::max<int64_t>(0, bulk.size()), length_)};
    }

    Result<FactLine> fact_line(const PlantedFact& fact) {
        const std::string text = haystack_->fact_line(fact.sentence);
        Result<std::vector<int32_t>> ids = tokenizer_.encode_text(text);
        if (!ids) return ids.error();
        FactLine line;
        line.fact = &fact;
        line.ids = std::move(*ids);
        const size_t from = text.rfind(fact.value);
        const size_t to = from + fact.value.size();
        size_t bytes = 0;
        line.value = {-1, 0};
        for (int64_t i = 0; i < std::ssize(line.ids); ++i) {
            const size_t next = bytes + tokenizer_.token_bytes(line.ids[static_cast<size_t>(i)]).size();
            if (next > from && bytes < to) {
                if (line.value.first < 0) line.value.first = i;
                line.value.end = i + 1;
            }
            bytes = next;
        }
        return line;
    }

    int64_t wanted_start(const FactLine& line, CellRange bulk) const {
        const PlantedFact& fact = *line.fact;
        const auto size = std::ssize(line.ids);
        switch (fact.place) {
            case FactPlace::start: return position();
            case FactPlace::end: return length_ - 1 - size;
            case FactPlace::of_length: return static_cast<int64_t>(fact.share * static_cast<double>(length_));
            case FactPlace::spread: break;
        }
        const int64_t start = bulk.first + static_cast<int64_t>(fact.share * static_cast<double>(bulk.size() - size));
        const int64_t border = border_of(fact.straddle);
        if (border == 0) return start;
        // The nearest border goes through the middle of the value.
        const int64_t middle = (line.value.first + line.value.end) / 2;
        const int64_t snapped = (start + middle + border / 2) / border * border - middle;
        return snapped >= bulk.first && snapped + size <= bulk.end ? snapped : start;
    }

    Status reach(const FactLine& line) {
        const bool exact = line.fact->straddle != Straddle::none || line.fact->place == FactPlace::end;
        const int64_t target = std::min(line.wanted, line.latest);
        if (exact) return fill_exactly(target);
        while (position() < target) {
            Result<std::vector<int32_t>> next = next_line();
            if (!next) return next.error();
            if (position() + std::ssize(*next) > line.latest) {
                held_ = std::move(*next);
                break;
            }
            append(*next);
        }
        return {};
    }

    void add(const FactLine& line) {
        if (line.fact->question >= 0) {
            RecallQuestion& question = document_.questions[static_cast<size_t>(line.fact->question)];
            question.cells = {position(), position() + std::ssize(line.ids)};
            question.value_cells = {position() + line.value.first, position() + line.value.end};
            question.depth = static_cast<double>(question.value_cells.first) / static_cast<double>(length_);
            const auto crosses = [&question](int64_t border) {
                return question.value_cells.first / border != (question.value_cells.end - 1) / border;
            };
            question.straddles_group = crosses(kGroupCells);
            question.straddles_chunk = crosses(kChunkCells);
            question.straddles_page = crosses(kPageCells);
        }
        append(line.ids);
    }

    // Haystack up to token `target`; the last line is cut where it would go beyond.
    Status fill_exactly(int64_t target) {
        while (position() < target) {
            Result<std::vector<int32_t>> next = next_line();
            if (!next) return next.error();
            const int64_t room = target - position();
            if (std::ssize(*next) > room) {
                next->resize(static_cast<size_t>(std::max<int64_t>(0, room - std::ssize(newline_))));
                next->insert(next->end(), newline_.begin(), newline_.end());
                next->resize(static_cast<size_t>(room));
            }
            append(*next);
        }
        return {};
    }

    Result<std::vector<int32_t>> next_line() {
        if (held_) {
            std::vector<int32_t> line = std::move(*held_);
            held_.reset();
            return line;
        }
        const std::optional<std::string> line = haystack_->next_line();
        if (line) return tokenizer_.encode_text(*line);
        return Error{ErrorKind::usage, fmt::format("The text to hide needles in ends after {} tokens, and {} are "
                                                   "wanted: take a longer text or a shorter length.",
                                                   position(), length_)};
    }

    void append(std::span<const int32_t> ids) { document_.ids.insert(document_.ids.end(), ids.begin(), ids.end()); }

    const Tokenizer& tokenizer_;
    int64_t length_;
    std::unique_ptr<Haystack> haystack_;
    std::vector<int32_t> newline_;
    std::optional<std::vector<int32_t>> held_;  // a line that did not fit in front of a needle
    RecallDocument document_;
};

}  // namespace

CellRange bulk_cells(std::span<const KvSettings> settings, int64_t length) {
    CellRange cells{0, length};
    for (const KvSettings& kv : settings) {
        if (kv.scheme.raw()) continue;
        cells.first = std::max(cells.first, kv.sinks);
        cells.end = std::min(cells.end, length - kv.window + 1);
        const bool per_channel = kv_format_spec(kv.scheme.k).per_channel() || kv_format_spec(kv.scheme.v).per_channel();
        if (per_channel) cells.end = std::min(cells.end, (length + 1) / kGroupCells * kGroupCells);
    }
    cells.end = std::clamp<int64_t>(cells.end, cells.first, std::max(length, cells.first));
    return cells;
}

RecallZone recall_zone(const KvSettings& kv, CellRange cells, int64_t length) {
    const CellRange bulk = bulk_cells({&kv, 1}, length);
    if (cells.first >= bulk.first && cells.end <= bulk.end) return RecallZone::bulk;
    if (cells.end <= bulk.first) return RecallZone::sink;
    if (cells.first >= bulk.end) return RecallZone::window;
    return RecallZone::mixed;
}

Result<RecallDocument> make_document(const Model& model, const RecallPlan& plan, int64_t length, uint64_t seed,
                                     CellRange bulk) {
    const Result<Frame> frame = chat_frame(model);
    if (!frame) return frame.error();
    DocumentWriter writer(model, plan, length, seed);
    if (Status status = writer.begin(*frame); !status) return status.error();
    const FactSet facts = make_facts(plan, seed);
    if (Status status = writer.plant(facts, bulk); !status) return status.error();
    return writer.finish();
}

Result<RecallDocument> make_bare_document(const Model& model, const RecallPlan& plan, int64_t length, uint64_t seed) {
    const Result<Frame> frame = chat_frame(model);
    if (!frame) return frame.error();
    DocumentWriter writer(model, plan, length, seed);
    if (Status status = writer.begin(*frame); !status) return status.error();
    if (Status status = writer.plant({{}, make_bare_questions(seed)}, {0, length}); !status) return status.error();
    return writer.finish();
}

Result<std::vector<int32_t>> question_ids(const Model& model, const RecallQuestion& question) {
    const Result<Frame> frame = chat_frame(model);
    if (!frame) return frame.error();
    std::vector<PromptPart> parts = {PromptPart{.text = "\n" + question.text}};
    parts.insert(parts.end(), frame->after.begin(), frame->after.end());
    if (!question.answer_prefix.empty()) parts.push_back({.text = question.answer_prefix});
    return model.tokenizer->encode(parts);
}

Result<std::vector<int32_t>> expected_ids(const Model& model, const RecallQuestion& question) {
    std::string text;
    for (const std::string& value : question.expected) text += (text.empty() ? " " : ", ") + value;
    return model.tokenizer->encode_text(text);
}

}  // namespace octavo
