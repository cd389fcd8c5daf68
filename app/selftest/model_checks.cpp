// Checks of the numbers: the whole model on the fast back end against the plain reference, and against itself.
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "app/selftest/check.h"
#include "runtime/verify/logits.h"

namespace octavo {
namespace {

const char* const kText = "The access code of the lighthouse is QUARTZ-DELTA-8813. What is the access code?";

Result<std::vector<int32_t>> fixed_prompt(CheckContext& context) {
    const auto model = context.model();
    if (!model) return model.error();
    return (*model)->tokenizer->encode_text(kText);
}

CheckOutcome logits_equal_reference(CheckContext& context) {
    const auto ids = fixed_prompt(context);
    if (!ids) return CheckOutcome::failed(ids.error().message);
    const auto difference = compare_with_reference(*context.model(), context.engine_options(), *ids);
    if (!difference) return CheckOutcome::failed(difference.error().message);
    if (!(difference->relative_rms <= kFastLogitTolerance))  // not a number fails too
        return CheckOutcome::failed(
            fmt::format("the logits differ by {:.2e} of their size (allowed: {:.0e}), most at position {}",
                        difference->relative_rms, kFastLogitTolerance, difference->worst_position));
    if (!difference->same_best_token) return CheckOutcome::failed("the best token differs");
    return CheckOutcome::passed();
}

CheckOutcome runs_are_bit_identical(CheckContext& context) {
    const auto engine = context.engine();
    if (!engine) return CheckOutcome::failed(engine.error().message);
    const auto ids = fixed_prompt(context);
    if (!ids) return CheckOutcome::failed(ids.error().message);
    const auto first = all_logits(**engine, *ids, 0);
    if (!first) return CheckOutcome::failed(first.error().message);
    const auto second = all_logits(**engine, *ids, 0);
    if (!second) return CheckOutcome::failed(second.error().message);
    const bool same = first->size() == second->size() &&
                      std::memcmp(first->data(), second->data(), first->size() * sizeof(float)) == 0;
    return same ? CheckOutcome::passed() : CheckOutcome::failed("the same prompt gave different logits");
}

CheckOutcome split_prompt_agrees(CheckContext& context) {
    const auto engine = context.engine();
    if (!engine) return CheckOutcome::failed(engine.error().message);
    const auto ids = fixed_prompt(context);
    if (!ids) return CheckOutcome::failed(ids.error().message);
    const auto whole = all_logits(**engine, *ids, 0);
    if (!whole) return CheckOutcome::failed(whole.error().message);
    const auto split = all_logits(**engine, *ids, 1);
    if (!split) return CheckOutcome::failed(split.error().message);
    const double difference = relative_rms_difference(*whole, *split);
    // A GPU multiplies many tokens with 16-bit factors, and one token in float32.
    const double allowed = (*engine)->info().device == "cuda" ? kFastLogitTolerance : kSplitLogitTolerance;
    if (difference <= allowed) return CheckOutcome::passed();
    return CheckOutcome::failed(
        fmt::format("reading token by token changes the logits by {:.2e} of their size "
                    "(allowed: {:.0e})",
                    difference, allowed));
}

constexpr Check kChecks[] = {
    {"logits equal the reference back end", logits_equal_reference},
    {"the same prompt gives the same bits", runs_are_bit_identical},
    {"a prompt read token by token gives the same logits", split_prompt_agrees},
};

}  // namespace

std::span<const Check> model_checks() { return kChecks; }

}  // namespace octavo
