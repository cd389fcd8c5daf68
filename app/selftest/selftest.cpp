#include "app/selftest/selftest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/output.h"
#include "app/selftest/check.h"
#include "runtime/verify/kernel_checks.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

struct Finished {
    std::string name;
    CheckOutcome outcome;
    double seconds = 0;
};

constexpr const char* kOutcomeNames[] = {"passed", "failed", "skipped"};

const char* outcome_name(const CheckOutcome& outcome) { return kOutcomeNames[static_cast<size_t>(outcome.kind)]; }

class SelfTest {
  public:
    SelfTest(const SelfTestOptions& options, DeviceChoice device)
        : json_(options.json), context_(device, options.threads) {}

    void run_kernel_checks() {
        for (const KernelCheck& check : kernel_checks())
            run(fmt::format("kernels against the reference: {}", check.name), [&](CheckContext& context) {
                return CheckOutcome::from(check_kernel(check, context.engine_options()));
            });
    }

    void run_table(std::span<const Check> checks) {
        for (const Check& check : checks) run(check.name, check.run);
    }

    int64_t count(CheckOutcome::Kind kind) const {
        return std::count_if(finished_.begin(), finished_.end(),
                             [kind](const Finished& check) { return check.outcome.kind == kind; });
    }
    const std::vector<Finished>& finished() const { return finished_; }

  private:
    template <class Work>
    void run(const std::string& name, Work&& work) {
        const auto start = Clock::now();
        Finished check{name, work(context_)};
        check.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const std::string reason = check.outcome.reason.empty() ? "" : ": " + check.outcome.reason;
        print_result(json_,
                     fmt::format("{:<8}{} ({:.2f} s){}\n", outcome_name(check.outcome), name, check.seconds, reason));
        finished_.push_back(std::move(check));
    }

    const JsonOption& json_;
    CheckContext context_;
    std::vector<Finished> finished_;
};

nlohmann::json report_json(const SelfTest& test) {
    nlohmann::json checks = nlohmann::json::array();
    for (const Finished& check : test.finished())
        checks.push_back({{"name", check.name},
                          {"outcome", outcome_name(check.outcome)},
                          {"reason", check.outcome.reason},
                          {"seconds", check.seconds}});
    return {{"checks", checks},
            {"passed", test.count(CheckOutcome::Kind::passed)},
            {"failed", test.count(CheckOutcome::Kind::failed)},
            {"skipped", test.count(CheckOutcome::Kind::skipped)}};
}

}  // namespace

void add_self_test_options(CLI::App& app, SelfTestOptions& options) {
    app.add_flag("--test", options.wanted, "Test this program on this machine; exit code 1 when a check fails");
    add_json_option(app, options.json);
    app.add_option("--device", options.device, "With --test: auto, cpu or cuda")->type_name("D");
    app.add_option("--threads", options.threads, "With --test: worker threads (default: one per physical core)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
}

int run_self_test(const SelfTestOptions& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const Result<DeviceChoice> device = parse_device(options.device);
    if (!device) return fail(device.error());

    SelfTest test(options, *device);
    test.run_kernel_checks();
    test.run_table(format_checks());
    test.run_table(model_checks());
    test.run_table(chat_checks());
    test.run_table(window_checks());
    test.run_table(recall_checks());
    test.run_table(store_checks());

    const int64_t failed = test.count(CheckOutcome::Kind::failed);
    print_result(options.json, fmt::format("{} passed, {} failed, {} skipped\n", test.count(CheckOutcome::Kind::passed),
                                           failed, test.count(CheckOutcome::Kind::skipped)));
    return finish(options.json, report_json(test), failed == 0 ? 0 : 1);
}

}  // namespace octavo
