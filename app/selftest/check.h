// What a check of the self-test is, and what checks share.
//
// Adding a check is one function and one entry in the table of its file.
// Threads: checks run one after another on the main thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "runtime/engine.h"

namespace octavo {

struct CheckOutcome {
    enum class Kind { passed, failed, skipped };
    Kind kind = Kind::passed;
    std::string reason;  // empty when passed

    static CheckOutcome passed() { return {}; }
    static CheckOutcome failed(std::string reason) { return {Kind::failed, std::move(reason)}; }
    static CheckOutcome skipped(std::string reason) { return {Kind::skipped, std::move(reason)}; }
    // Failed with the error's sentence, or passed.
    static CheckOutcome from(const Status& status) { return status ? passed() : failed(status.error().message); }
};

// What checks need more than one of; made when first asked for.
class CheckContext {
  public:
    CheckContext(DeviceChoice device, int threads) : device_(device), threads_(threads) {}

    DeviceChoice device() const { return device_; }
    EngineOptions engine_options() const;
    Result<std::shared_ptr<const Model>> model();  // the bundled one
    Result<Engine*> engine();                      // for it, with an f16 cache

  private:
    DeviceChoice device_;
    int threads_;
    std::shared_ptr<const Model> model_;
    std::unique_ptr<Engine> engine_;
};

struct Check {
    const char* name;
    CheckOutcome (*run)(CheckContext& context);
};

std::span<const Check> format_checks();  // files, schemes, tokens
std::span<const Check> model_checks();   // numbers
std::span<const Check> chat_checks();    // conversations
std::span<const Check> window_checks();  // the window, without a display
std::span<const Check> recall_checks();  // facts in a long text
std::span<const Check> store_checks();   // conversations on disk

}  // namespace octavo
