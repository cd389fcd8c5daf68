// One document under one setting: reads the text once, then asks every question from the checkpoint behind it. Each
// step is one task for the engine.
//
// Threads: one caller, which waits for the engine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/engine.h"
#include "runtime/recall/document.h"
#include "runtime/recall/recall_report.h"

namespace octavo {

// Logits of a document's last positions under the reference, [positions][vocab].
struct ReferenceLogits {
    int64_t first_position = 0;
    std::vector<float> rows;
};

class SectionReader {
  public:
    // Opens a session of its own; closes it at the end.
    SectionReader(Engine& engine, const RecallDocument& document, const KvSettings& kv);
    ~SectionReader();
    SectionReader(const SectionReader&) = delete;
    SectionReader& operator=(const SectionReader&) = delete;

    Status open(int64_t context_length);

    // The next pass of the text; `true` when all of it has been read. Logits of the positions from `first_row` on go to
    // `keep`, or are compared with `compare`'s, where these are given.
    Result<bool> read_pass(int64_t first_row, ReferenceLogits* keep, const ReferenceLogits* compare);
    // Over what read_pass compared; nothing where it did not.
    std::optional<FidelityScores> fidelity() const;

    // `rows`: when given, the logits that the rating was made from.
    Result<RecallAnswer> ask(const RecallQuestion& question, std::vector<float>* rows = nullptr);

    const RecallSection::Cost& document_cost() const { return document_cost_; }
    const RecallSection::Cost& question_cost() const { return question_cost_; }
    const RecallSection::Cost& control_cost() const { return control_cost_; }
    const RecallSection::Cost& decode_cost() const { return decode_cost_; }
    Result<int64_t> cache_bytes();

  private:
    struct Prepared {
        std::vector<int32_t> question;
        std::vector<int32_t> expected;
        CellRange masked;
    };
    // Both add to `cost`.
    Status ask_on(Session& session, const Prepared& prepared, RecallAnswer& answer, std::vector<float>* rows,
                  RecallSection::Cost& cost);
    Status decode_rest(Session& session, const Prepared& prepared, size_t given, RecallAnswer& answer,
                       RecallSection::Cost& cost);
    bool ends_turn(int32_t id) const;
    int64_t vocab() const;

    Engine& engine_;
    const RecallDocument& document_;
    KvSettings kv_;
    int64_t read_ = 0;
    std::vector<PositionFidelity> positions_;
    RecallSection::Cost document_cost_;
    RecallSection::Cost question_cost_;
    RecallSection::Cost control_cost_;
    RecallSection::Cost decode_cost_;
};

}  // namespace octavo
