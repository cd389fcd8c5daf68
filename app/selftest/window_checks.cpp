// Checks of the window without a display: the same drawing and the same clicks, on made-up states.
#include <fmt/format.h>

#include "app/selftest/check.h"
#include "ui/testing/driver.h"
#include "ui/testing/sample_states.h"

namespace octavo {
namespace {

CheckOutcome draws_every_state(CheckContext& /*context*/) {
    for (const std::string_view name : sample_state_names()) {
        const Result<ViewState> state = sample_state(name);
        if (!state) return CheckOutcome::failed(state.error().message);
        UiDriver driver(WindowLayout{}, *state);
        if (driver.misuses() > 0)
            return CheckOutcome::failed(fmt::format("Dear ImGui was misused in state '{}'", name));
        if (ImGui::GetDrawData()->TotalVtxCount == 0) return CheckOutcome::failed(fmt::format("'{}' is blank", name));
    }
    return CheckOutcome::passed();
}

CheckOutcome sends_what_is_typed(CheckContext& /*context*/) {
    const Result<ViewState> state = sample_state("chat");
    if (!state) return CheckOutcome::failed(state.error().message);
    UiDriver driver(WindowLayout{}, *state);
    if (!driver.click("##message")) return CheckOutcome::failed("the field for messages is not there");
    const std::string typed = "Grüße, 灯塔 \xF0\x9F\x98\x80";
    driver.type(typed);
    driver.press(ImGuiKey_Enter);
    for (const Action& action : driver.take_actions())
        if (const auto* sent = std::get_if<action::SendMessage>(&action))
            return sent->text == typed ? CheckOutcome::passed() : CheckOutcome::failed("sent: " + sent->text);
    return CheckOutcome::failed("nothing was sent");
}

constexpr Check kChecks[] = {
    {"the window draws every state without a display", draws_every_state},
    {"the window sends what is typed, emoji too", sends_what_is_typed},
};

}  // namespace

std::span<const Check> window_checks() { return kChecks; }

}  // namespace octavo
