// Checks of whole conversations with the bundled model, through template, tokenizer, session and sampler.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/chat/conversation.h"
#include "app/chat/reply_view.h"
#include "app/selftest/check.h"

namespace octavo {
namespace {

const char* const kDocument =
    "The harbour master keeps a list. The access code of the lighthouse is QUARTZ-DELTA-8813. The ferry leaves at "
    "noon, and the tide is low in the evening. The magic number for Orla is 4823901. The old pier is closed.\n\n";
const char* const kQuestion = "What is the access code of the lighthouse?";
const char* const kAnswer = "QUARTZ-DELTA-8813";

// Watches nothing; stops a reply at once where told to.
class SilentWatcher : public ReplyWatcher {
  public:
    explicit SilentWatcher(bool stop = false) : stop_(stop) {}
    void on_progress(const GenerationProgress&) override {}
    void on_delta(const GenerationDelta&) override {}
    bool stop_wanted() override { return stop_; }

  private:
    bool stop_;
};

ReplySettings greedy() {
    ReplySettings settings;
    settings.sampler.temperature = 0;
    settings.max_tokens = 64;
    return settings;
}

bool contains(const GenerationReport& report, const char* text) { return report.text.find(text) != std::string::npos; }

CheckOutcome wrong_answer(const GenerationReport& report) {
    return CheckOutcome::failed(fmt::format("the reply was '{}'", without_leading_space(report.text)));
}

CheckOutcome recalls_a_fact(CheckContext& context) {
    const auto engine = context.engine();
    if (!engine) return CheckOutcome::failed(engine.error().message);
    Conversation conversation(**engine, greedy());
    SilentWatcher watcher;
    const auto report = conversation.ask(std::string(kDocument) + kQuestion, watcher);
    if (!report) return CheckOutcome::failed(report.error().message);
    return contains(*report, kAnswer) ? CheckOutcome::passed() : wrong_answer(*report);
}

CheckOutcome second_turn_reuses(CheckContext& context) {
    const auto engine = context.engine();
    if (!engine) return CheckOutcome::failed(engine.error().message);
    Conversation conversation(**engine, greedy());
    SilentWatcher watcher;
    const auto first = conversation.ask(std::string(kDocument) + kQuestion, watcher);
    if (!first) return CheckOutcome::failed(first.error().message);
    const auto second = conversation.ask("What is the magic number for Orla?", watcher);
    if (!second) return CheckOutcome::failed(second.error().message);
    if (second->reused_tokens < first->prompt_tokens)
        return CheckOutcome::failed(fmt::format("the second turn reused {} tokens of a first prompt of {}",
                                                second->reused_tokens, first->prompt_tokens));
    return contains(*second, "4823901") ? CheckOutcome::passed() : wrong_answer(*second);
}

CheckOutcome regenerate_repeats(CheckContext& context) {
    const auto engine = context.engine();
    if (!engine) return CheckOutcome::failed(engine.error().message);
    Conversation conversation(**engine, greedy());
    SilentWatcher watcher;
    const auto first = conversation.ask(std::string(kDocument) + kQuestion, watcher);
    if (!first) return CheckOutcome::failed(first.error().message);
    const auto again = conversation.regenerate(watcher);
    if (!again) return CheckOutcome::failed(again.error().message);
    if (again->prefilled_tokens > 1)
        return CheckOutcome::failed(fmt::format("{} tokens were read again", again->prefilled_tokens));
    return again->ids == first->ids ? CheckOutcome::passed() : CheckOutcome::failed("greedy replies differ");
}

CheckOutcome full_context_is_refused(CheckContext& context) {
    const auto model = context.model();
    if (!model) return CheckOutcome::failed(model.error().message);
    EngineOptions options = context.engine_options();
    options.session.context_length = 32;
    const auto engine = Engine::create(*model, options);
    if (!engine) return CheckOutcome::failed(engine.error().message);
    Conversation conversation(**engine, greedy());
    SilentWatcher watcher;
    const auto report = conversation.ask(std::string(kDocument) + kQuestion, watcher);
    if (report) return CheckOutcome::failed("a prompt longer than the context was taken");
    if (report.error().kind != ErrorKind::context_full) return CheckOutcome::failed(report.error().message);
    return conversation.messages().empty() ? CheckOutcome::passed()
                                           : CheckOutcome::failed("the refused message stayed in the conversation");
}

CheckOutcome prefill_can_be_stopped(CheckContext& context) {
    const auto engine = context.engine();
    if (!engine) return CheckOutcome::failed(engine.error().message);
    std::string text;
    for (int i = 0; i < 400; ++i) text += fmt::format("Line {} of a long log says that all is well. ", i);
    Conversation conversation(**engine, greedy());
    SilentWatcher watcher(true);
    const auto report = conversation.ask(text, watcher);
    if (!report) return CheckOutcome::failed(report.error().message);
    return report->stop == StopReason::cancelled
               ? CheckOutcome::passed()
               : CheckOutcome::failed("the reading of a long prompt went on to its end");
}

CheckOutcome absent_device_is_refused(CheckContext& context) {
    const auto model = context.model();
    if (!model) return CheckOutcome::failed(model.error().message);
    EngineOptions options = context.engine_options();
    options.device = DeviceChoice::cuda;
    const auto engine = Engine::create(*model, options);
    if (engine) return CheckOutcome::skipped("this machine has a CUDA device");
    return engine.error().kind == ErrorKind::device ? CheckOutcome::passed()
                                                    : CheckOutcome::failed(engine.error().message);
}

constexpr Check kChecks[] = {
    {"a fact in a document is recalled", recalls_a_fact},
    {"a second turn reads only what is new", second_turn_reuses},
    {"a regenerated greedy reply repeats without reading again", regenerate_repeats},
    {"a prompt longer than the context is refused", full_context_is_refused},
    {"the reading of a long prompt can be stopped", prefill_can_be_stopped},
    {"a device that is not there is refused", absent_device_is_refused},
};

}  // namespace

std::span<const Check> chat_checks() { return kChecks; }

}  // namespace octavo
