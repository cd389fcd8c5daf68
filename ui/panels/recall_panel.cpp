#include "ui/panels/recall_panel.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ui/number_text.h"
#include "ui/panels/controls.h"
#include "ui/panels/heat_map.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr const char* kQuestionNames[] = {"20##questions", "40##questions", "80##questions"};
constexpr std::array<int, 3> kQuestions = {20, 40, 80};
// Without a length nothing is asked; this much is a quick look.
constexpr int64_t kQuickLength = 16384;

std::vector<int64_t> chosen_lengths(const RecallState& state, const RecallInput& input) {
    std::vector<int64_t> lengths;
    for (const int64_t length : state.lengths)
        if (input.left_out.count(length) == 0) lengths.push_back(length);
    return lengths;
}

void draw_lengths(Ui& ui, const RecallState& state, RecallInput& input) {
    text_line(ui, Face::body, ui.theme.muted, "Lengths of the text, in tokens");
    for (const int64_t length : state.lengths) {
        const bool chosen = input.left_out.count(length) == 0;
        const std::string label = format_tokens(length) + "##length-" + std::to_string(length);
        if (button(ui, label.c_str(), {.small = true, .selected = chosen})) {
            if (chosen)
                input.left_out.insert(length);
            else
                input.left_out.erase(length);
        }
        if (length != state.lengths.back()) ImGui::SameLine();
        if (ImGui::GetContentRegionAvail().x < ui.px(56)) ImGui::NewLine();
    }
}

void draw_plan(Ui& ui, const RecallState& state, RecallInput& input, Actions& actions) {
    text_block(
        ui, Face::small, ui.theme.muted,
        "Hides facts in long texts and asks for each of them, as a chat would. What is tested: " + state.settings);
    if (!state.warning.empty()) text_block(ui, Face::small, ui.theme.warning, state.warning);
    draw_lengths(ui, state, input);
    text_line(ui, Face::body, ui.theme.muted, "Questions for each length");
    const int questions = segments(ui, kQuestionNames, static_cast<int>(kQuestions.size()), input.questions);
    if (questions >= 0) input.questions = questions;
    if (button(ui, "Beside the best format##reference",
               {.icon = input.with_reference ? Icon::check : Icon::none,
                .width = -1,
                .tooltip = "The same questions under f16, so that a difference is the format's and not the model's",
                .small = true,
                .selected = input.with_reference}))
        input.with_reference = !input.with_reference;
    if (button(ui, "Windows of 0, 128, 512 and 1,024##sweep",
               {.icon = input.window_sweep ? Icon::check : Icon::none,
                .width = -1,
                .tooltip = "One run for each window instead of the present one",
                .small = true,
                .selected = input.window_sweep}))
        input.window_sweep = !input.window_sweep;
    const std::vector<int64_t> lengths = chosen_lengths(state, input);
    if (button(ui, "Run the check##recall", {.kind = ButtonKind::primary, .width = -1, .enabled = !lengths.empty()}))
        actions.push_back(action::StartRecall{lengths, kQuestions[static_cast<size_t>(input.questions)],
                                              input.with_reference, input.window_sweep});
}

void draw_progress(Ui& ui, const RecallState& state, Actions& actions) {
    const double share = state.total > 0 ? static_cast<double>(state.done) / static_cast<double>(state.total) : -1;
    progress_bar(ui, share);
    std::string text = share < 0 ? "preparing the texts" : fmt::format("{:.0f}%", 100 * share);
    if (state.seconds_left >= 0) text += ", about " + format_seconds(state.seconds_left) + " left";
    text_line(ui, Face::small, ui.theme.muted, text);
    text_block(ui, Face::small, ui.theme.muted, "The chat can go on meanwhile; it waits for a step at most.");
    if (button(ui, state.stopping ? "Stopping…##stop-recall" : "Stop, keep what there is##stop-recall",
               {.icon = Icon::stop, .width = -1, .enabled = !state.stopping}))
        actions.push_back(action::StopRecall{});
}

void draw_answers(Ui& ui, const RecallCellView& cell) {
    text_line(ui, Face::strong, ui.theme.text,
              fmt::format("{} tokens, at {}%", format_count(cell.length_tokens), cell.depth_percent));
    for (const RecallAnswerView& answer : cell.answers) {
        hairline(ui);
        text_line(ui, Face::small, answer.correct ? ui.theme.success : ui.theme.error,
                  fmt::format("{}: {}, tokens {} to {}, {}", answer.outcome, answer.task,
                              format_count(answer.first_token), format_count(answer.end_token), answer.zone),
                  ImGui::GetContentRegionAvail().x);
        text_block(ui, Face::small, ui.theme.muted, answer.question);
        text_block(ui, Face::small, ui.theme.text, "expected " + answer.expected);
        if (!answer.correct) text_block(ui, Face::small, ui.theme.text, "answered " + answer.answer);
    }
}

void draw_scheme(Ui& ui, const RecallSchemeView& scheme, int index, RecallInput& input) {
    ImGui::PushID(index);
    space(ui, 6);
    text_line(ui, Face::strong, ui.theme.text, scheme.name + (scheme.reference ? " (reference)" : ""),
              ImGui::GetContentRegionAvail().x);
    text_block(ui, Face::small, ui.theme.muted,
               fmt::format("{} of {} right, 95% interval {:.0f} to {:.0f}%; {} wrong, {} empty", scheme.correct,
                           scheme.n, 100 * scheme.wilson_low, 100 * scheme.wilson_high, scheme.wrong, scheme.empty));
    const int clicked = draw_heat_map(ui, scheme, input.scheme == index ? input.cell : -1);
    if (clicked >= 0) {
        const bool again = input.scheme == index && input.cell == clicked;
        input.scheme = again ? -1 : index;
        input.cell = again ? -1 : clicked;
    }
    if (input.scheme == index && input.cell >= 0 && static_cast<size_t>(input.cell) < scheme.cells.size())
        draw_answers(ui, scheme.cells[static_cast<size_t>(input.cell)]);
    for (const std::string& detail : scheme.details) text_block(ui, Face::small, ui.theme.muted, detail);
    ImGui::PopID();
}

void draw_run(Ui& ui, const RecallRunView& run, RecallInput& input, Actions& actions) {
    section(ui, run.complete ? "Result" : "So far");
    text_block(ui, Face::small, ui.theme.muted, run.model + (run.time_text.empty() ? "" : ", " + run.time_text));
    for (size_t i = 0; i < run.schemes.size(); ++i) draw_scheme(ui, run.schemes[i], static_cast<int>(i), input);
    if (!run.differences.empty()) {
        section(ui, "Beside the reference");
        for (const std::string& line : run.differences) text_block(ui, Face::small, ui.theme.text, line);
    }
    for (const std::string& note : run.notes) text_block(ui, Face::small, ui.theme.muted, note);
    if (run.id == 0) return;
    space(ui, 4);
    const float third = (ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().ItemSpacing.x) / 3;
    if (button(ui, "JSON##export-recall", {.icon = Icon::save, .width = third, .small = true}))
        actions.push_back(action::ExportRecallRun{run.id, action::RecallExportFormat::json});
    ImGui::SameLine();
    if (button(ui, "CSV##export-recall", {.icon = Icon::save, .width = third, .small = true}))
        actions.push_back(action::ExportRecallRun{run.id, action::RecallExportFormat::csv});
    ImGui::SameLine();
    if (button(ui, "Delete##recall", {.kind = ButtonKind::danger, .width = third, .small = true}))
        actions.push_back(action::DeleteRecallRun{run.id});
}

void draw_history(Ui& ui, const RecallState& state, Actions& actions) {
    if (state.history.empty()) return;
    section(ui, "Earlier checks");
    for (const RecallHistoryItem& item : state.history) {
        const std::string label = item.text + "##run-" + std::to_string(item.id);
        if (list_row(ui, label.c_str(),
                     {.figure = item.time_text, .chosen = state.shown && state.shown->id == item.id}))
            actions.push_back(action::OpenRecallRun{item.id});
    }
}

// The longest texts take longest: a first look leaves them out.
void begin_small(const RecallState& state, RecallInput& input) {
    for (const int64_t length : state.lengths)
        if (length > kQuickLength) input.left_out.insert(length);
}

}  // namespace

void draw_recall_panel(Ui& ui, const RecallState& state, RecallInput& input, Actions& actions) {
    section(ui, "Recall check");
    if (!input.begun && state.available) {
        begin_small(state, input);
        input.begun = true;
    }
    if (input.run != state.shown.get()) {
        // While a run grows, its squares stay where they are.
        const bool grows = state.running && input.run != nullptr && state.shown;
        if (!grows) input.scheme = input.cell = -1;
        input.run = state.shown.get();
    }
    if (!state.error.empty()) text_block(ui, Face::body, ui.theme.error, state.error);
    if (!state.available)
        text_block(ui, Face::body, ui.theme.muted, state.unavailable);
    else if (state.running)
        draw_progress(ui, state, actions);
    else
        draw_plan(ui, state, input, actions);
    if (state.shown) draw_run(ui, *state.shown, input, actions);
    draw_history(ui, state, actions);
}

}  // namespace octavo
