#include "ui/panels/kv_panel.h"

#include <imgui.h>

#include <algorithm>
#include <string>

#include "ui/number_text.h"
#include "ui/panels/controls.h"
#include "ui/panels/memory_bar.h"
#include "ui/widgets.h"

namespace octavo {
namespace {

constexpr int64_t kContextStep = 1024;
constexpr int64_t kWindowStep = 32;
constexpr int64_t kSinkStep = 16;
constexpr int64_t kMostSinks = 1024;

ImU32 error_colour(const Theme& theme, KvErrorClass error) {
    switch (error) {
        case KvErrorClass::exact:
        case KvErrorClass::very_low:
        case KvErrorClass::low: return theme.success;
        case KvErrorClass::medium: return theme.warning;
        case KvErrorClass::high: return theme.error;
        case KvErrorClass::unknown: return theme.muted;
    }
    return theme.muted;
}

const KvSchemeRow* find_row(const KvState& state, const KvScheme& scheme) {
    const auto row = std::find_if(state.rows.begin(), state.rows.end(),
                                  [&](const KvSchemeRow& each) { return each.scheme == scheme; });
    return row != state.rows.end() ? &*row : nullptr;
}

void draw_cost(Ui& ui, const KvState& state) {
    text_line(ui, Face::title, ui.theme.text, format_count(state.bytes_per_token) + " bytes");
    text_line(ui, Face::small, ui.theme.muted, "a token, keys and values of all layers");
    space(ui, 4);
    const std::string used = format_count(state.used_tokens) + " of " + format_count(state.applied.context_tokens);
    figure_row(ui, "Tokens held", used);
    const double share = state.applied.context_tokens > 0 ? static_cast<double>(state.used_tokens) /
                                                                static_cast<double>(state.applied.context_tokens)
                                                          : 0;
    progress_bar(ui, share, 4);
}

// Two lines: name and bytes a token; what it does, and how much of what fits.
bool draw_scheme_row(Ui& ui, const KvSchemeRow& row, bool chosen) {
    const bool usable = row.unavailable.empty();
    const float width = ImGui::GetContentRegionAvail().x;
    const ImVec2 size(width, ui.px(42));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::BeginDisabled(!usable);
    const bool clicked = ImGui::InvisibleButton((row.name + "##scheme").c_str(), size);
    ImGui::EndDisabled();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (chosen || ImGui::IsItemHovered() || ImGui::IsItemFocused())
        list.AddRectFilled(at, {at.x + size.x, at.y + size.y}, chosen ? ui.theme.selected : ui.theme.hover, ui.px(5));
    tooltip(ui, usable ? row.text : row.unavailable);

    const float fade = usable ? 1.0f : 0.45f;
    const auto write = [&](Face face, ImU32 colour, const std::string& text, float x, float y, bool right) {
        const float w = text_size(ui, face, text).x;
        list.AddText(ui.font(face), ui.font(face)->FontSize, {at.x + (right ? x - w : x), at.y + y},
                     with_alpha(colour, fade), text.c_str());
    };
    const float edge = ui.px(8);
    write(Face::strong, ui.theme.text, row.name, edge, ui.px(3), false);
    write(Face::body, ui.theme.text, format_count(row.bytes_per_token) + " B/token", width - edge, ui.px(3), true);
    const float second = ui.px(23);
    list.AddCircleFilled({at.x + edge + ui.px(4), at.y + second + ui.px(8)}, ui.px(4),
                         with_alpha(error_colour(ui.theme, row.error), fade));
    std::string classes = kv_error_text(row.error);
    if (row.speed != KvSpeedClass::unknown) classes += std::string(", ") + kv_speed_text(row.speed);
    write(Face::small, ui.theme.muted, classes, edge + ui.px(14), second, false);
    write(Face::small, ui.theme.muted, "fits " + format_tokens(row.largest_context) + " tokens", width - edge, second,
          true);
    return clicked;
}

void draw_scheme_choice(Ui& ui, const KvState& state, KvInput& input) {
    const KvSchemeRow* row = find_row(state, input.choice.settings.scheme);
    const std::string name = row != nullptr ? row->name : kv_scheme_name(input.choice.settings.scheme);
    text_line(ui, Face::body, ui.theme.muted, "Scheme");
    const std::string preview =
        row != nullptr ? name + ", " + format_count(row->bytes_per_token) + " bytes a token" : name;
    if (drop_down(ui, "##kv-scheme", preview)) ImGui::OpenPopup("##kv-schemes");
    ImGui::SetNextWindowPos({ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + ui.px(4)}, ImGuiCond_Appearing);
    ImGui::SetNextWindowSizeConstraints({ui.px(320), 0}, {ui.px(460), ui.px(420)});
    push_popup_style(ui);
    if (ImGui::BeginPopup("##kv-schemes")) {
        for (const KvSchemeRow& each : state.rows) {
            if (!draw_scheme_row(ui, each, each.scheme == input.choice.settings.scheme)) continue;
            KvSettings settings = default_kv_settings(each.scheme);
            const bool both_packed = !each.scheme.raw() && !input.choice.settings.scheme.raw();
            if (both_packed) {
                settings.window = input.choice.settings.window;
                settings.sinks = input.choice.settings.sinks;
            }
            input.choice.settings = settings;
            ImGui::CloseCurrentPopup();
        }
        ImGui::EndPopup();
    }
    pop_popup_style();
    if (row != nullptr) text_block(ui, Face::small, ui.theme.muted, row->text);
}

void draw_overlay(Ui& ui, const KvState& state, KvChoice& choice) {
    KvSettings& settings = choice.settings;
    if (settings.scheme.raw()) {
        text_block(ui, Face::small, ui.theme.muted,
                   "Every token is kept in full, so there is nothing for a window to add.");
        return;
    }
    const int64_t most = std::max<int64_t>(std::min(state.window_limit, choice.context_tokens), 1);
    const std::string window = settings.window == 0 ? "none" : "newest " + format_count(settings.window);
    slider_row(
        ui,
        {.name = "Window in FP16",
         .id = "##kv-window",
         .value = window,
         .logarithmic = true,
         .tooltip = "The newest tokens are also kept in FP16 and read exactly. Ctrl and a click: type a number."},
        settings.window, 0, most, kWindowStep);
    const std::string sinks = settings.sinks == 0 ? "none" : "first " + format_count(settings.sinks);
    slider_row(ui,
               {.name = "Sinks in FP16",
                .id = "##kv-sinks",
                .value = sinks,
                .tooltip = "The first tokens, which every later one looks at, are also kept in FP16."},
               settings.sinks, 0, std::min(kMostSinks, most), kSinkStep);
}

void draw_context(Ui& ui, const KvState& state, KvChoice& choice) {
    slider_row(ui,
               {.name = "Context",
                .id = "##kv-context",
                .value = format_count(choice.context_tokens) + " tokens",
                .logarithmic = true,
                .tooltip = "The most tokens that the conversation can have. Memory is taken as it grows."},
               choice.context_tokens, std::min(kContextStep, state.context_limit), state.context_limit, kContextStep);
}

// Segments need names that stay; the visible words are the first part.
void draw_details(Ui& ui, KvChoice& choice) {
    if (!ImGui::TreeNodeEx("Rotation and channels##kv-details", ImGuiTreeNodeFlags_NoTreePushOnOpen)) return;
    static constexpr const char* kRotations[] = {"Automatic##rotate", "On##rotate", "Off##rotate"};
    text_line(ui, Face::small, ui.theme.muted, "Rotation of keys and values before they are packed");
    const int rotation = segments(ui, kRotations, 3, static_cast<int>(choice.settings.rotation));
    if (rotation >= 0) choice.settings.rotation = static_cast<KvRotation>(rotation);
    static constexpr const char* kChannels[] = {"As they are##equalise", "Free##equalise", "Calibrated##equalise"};
    text_line(ui, Face::small, ui.theme.muted, "Channels brought to one size");
    const int equalise = segments(ui, kChannels, 3, static_cast<int>(choice.equalise));
    if (equalise >= 0) choice.equalise = static_cast<KvEqualise>(equalise);
}

void draw_price(Ui& ui, const KvState& state, KvInput& input, Actions& actions) {
    const bool pending = !(input.choice == state.applied);
    const KvPrice* price = state.price && state.price->choice == input.choice ? &*state.price : nullptr;
    if (state.changing) {
        text_line(ui, Face::body, ui.theme.accent, "The cache is being converted");
        progress_bar(ui, state.total_layers > 0
                             ? static_cast<double>(state.changed_layers) / static_cast<double>(state.total_layers)
                             : -1);
        return;
    }
    if (!state.error.empty()) text_block(ui, Face::body, ui.theme.error, state.error);
    if (!pending) return;
    if (price != nullptr) {
        figure_row(ui, "Bytes a token",
                   format_count(state.bytes_per_token) + " → " + format_count(price->bytes_per_token));
        if (price->fits || price->bytes_full > 0) {
            figure_row(ui, "Cache now", format_size(price->bytes_now) + " → " + format_size(price->bytes_after));
            figure_row(ui, "Cache when full", format_size(price->bytes_full));
        }
        if (!price->sentence.empty())
            text_block(ui, Face::small, price->fits ? ui.theme.muted : ui.theme.error, price->sentence);
    }
    const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
    const bool fits = price == nullptr || price->fits;
    if (button(ui, "Apply##kv", {.kind = ButtonKind::primary, .width = half, .enabled = fits}))
        actions.push_back(action::ApplyKv{input.choice});
    ImGui::SameLine();
    if (button(ui, "Discard##kv", {.width = half})) {
        input.choice = state.applied;
        actions.push_back(action::DiscardKv{});
    }
}

void draw_exactness(Ui& ui, const KvState& state, Actions& actions) {
    if (state.exact_from <= 0) return;
    space(ui, 4);
    text_block(ui, Face::small, ui.theme.warning,
               "Exact from token " + format_count(state.exact_from) +
                   " on; older tokens keep the error of how they were stored before.");
    if (button(ui, "Rebuild exactly##kv",
               {.icon = Icon::retry, .width = -1, .tooltip = "Reads the whole conversation again", .small = true}))
        actions.push_back(action::RebuildKv{});
}

void draw_headroom(Ui& ui, const KvState& state, Actions& actions) {
    int64_t headroom = state.headroom_bytes;
    constexpr int64_t step = int64_t{64} << 20;
    const int64_t most = std::max<int64_t>(state.memory_total_bytes / 2, step);
    if (slider_row(ui,
                   {.name = "Left to other programs",
                    .id = "##headroom",
                    .value = headroom == 0 ? "nothing" : format_size(headroom),
                    .tooltip = "What would take more than the rest is refused."},
                   headroom, 0, most, step))
        actions.push_back(action::SetHeadroom{headroom});
}

// A new budget means another load, so it waits for a button.
void draw_gpu_budget(Ui& ui, const GpuBudgetState& state, Actions& actions) {
    if (!state.available) return;
    constexpr int64_t step = int64_t{64} << 20;
    int64_t bytes = state.bytes;
    if (slider_row(ui,
                   {.name = "GPU memory to use",
                    .id = "##gpu-budget",
                    .value = bytes == 0 ? "what is free" : "at most " + format_size(bytes),
                    .tooltip = "A promise: what would take more is refused."},
                   bytes, 0, std::max(state.most_bytes, step), step))
        actions.push_back(action::SetGpuBudget{bytes});
    if (!state.refusal.empty()) text_block(ui, Face::small, ui.theme.warning, state.refusal);
    if (!state.applied && button(ui, "Load the model again within it##gpu-budget-apply", {.width = -1, .small = true}))
        actions.push_back(action::ApplyGpuBudget{});
}

}  // namespace

const char* kv_error_text(KvErrorClass error) {
    switch (error) {
        case KvErrorClass::exact: return "exact";
        case KvErrorClass::very_low: return "error very low";
        case KvErrorClass::low: return "error low";
        case KvErrorClass::medium: return "error medium";
        case KvErrorClass::high: return "error high";
        case KvErrorClass::unknown: return "error not measured";
    }
    return "";
}

const char* kv_speed_text(KvSpeedClass speed) {
    switch (speed) {
        case KvSpeedClass::fast: return "fast";
        case KvSpeedClass::medium: return "medium speed";
        case KvSpeedClass::slow: return "slow";
        case KvSpeedClass::unknown: return "";
    }
    return "";
}

void draw_kv_panel(Ui& ui, const KvState& state, KvInput& input, Actions& actions) {
    section(ui, "KV cache");
    if (!state.available) {
        text_block(ui, Face::body, ui.theme.muted, "Load a model to see what its cache costs.");
        draw_gpu_budget(ui, state.gpu_budget, actions);
        input.seen = false;
        return;
    }
    if (!input.seen || !(input.applied == state.applied)) {
        input.applied = state.applied;
        input.choice = state.applied;
        input.seen = true;
    }
    const KvChoice before = input.choice;
    draw_cost(ui, state);
    section(ui, "How it is stored");
    draw_scheme_choice(ui, state, input);
    draw_overlay(ui, state, input.choice);
    draw_context(ui, state, input.choice);
    draw_details(ui, input.choice);
    if (!(input.choice == before)) actions.push_back(action::PriceKv{input.choice});
    draw_price(ui, state, input, actions);
    draw_exactness(ui, state, actions);
    section(ui, "Memory");
    draw_memory(ui, state);
    draw_gpu_budget(ui, state.gpu_budget, actions);
    draw_headroom(ui, state, actions);
}

}  // namespace octavo
