// Runs a recall plan on an engine, in a session of its own: no conversation and no cache of a person's is touched. Work
// is handed to the engine in steps (a pass of the text, or one question), so that a chat beside it waits for one step
// at most.
//
// Threads: one caller, which waits; any but the engine's thread.
#pragma once

#include <functional>

#include "kernels/base/job.h"
#include "runtime/engine.h"
#include "runtime/recall/recall_report.h"

namespace octavo {

struct RecallRequest {
    RecallPlan plan;
    std::vector<RecallSection> finished;  // of an earlier run of the same plan and model: not run again
};

// What would be run: lengths that fit, the reference, notes, model and back end; no sections. The same errors as
// run_recall, but for those of the run itself.
Result<RecallReport> prepare_recall(const Engine& engine, const RecallPlan& plan);

// Called after every section, on the caller's thread; the section is the report's last one.
using RecallListener = std::function<void(const RecallReport& so_far)>;

// A cancelled run is a report with the sections that were finished. Errors: a length that the model, or the needles,
// do not fit into; a text that is too short; settings that do not fit the model; a model without tokenizer or chat.
// job: done and total count tokens, so their ratio is the share of the work.
Result<RecallReport> run_recall(Engine& engine, const RecallRequest& request, Job& job,
                                const RecallListener& listener = {});

}  // namespace octavo
