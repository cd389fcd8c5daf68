#include "app/store/reply_figures.h"

#include <nlohmann/json.hpp>
#include <variant>

namespace octavo {
namespace {

using nlohmann::json;

struct Field {
    const char* name;
    std::variant<int64_t ReplyFigures::*, double ReplyFigures::*, std::string ReplyFigures::*> member;
};
const Field kFields[] = {
    {"prompt_tokens", &ReplyFigures::prompt_tokens},
    {"reused_tokens", &ReplyFigures::reused_tokens},
    {"prefilled_tokens", &ReplyFigures::prefilled_tokens},
    {"generated_tokens", &ReplyFigures::generated_tokens},
    {"prefill_seconds", &ReplyFigures::prefill_seconds},
    {"decode_seconds", &ReplyFigures::decode_seconds},
    {"total_seconds", &ReplyFigures::total_seconds},
    {"thinking_seconds", &ReplyFigures::thinking_seconds},
    {"stop", &ReplyFigures::stop},
    {"note", &ReplyFigures::note},
    {"model", &ReplyFigures::model},
    {"scheme", &ReplyFigures::scheme},
    {"window", &ReplyFigures::window},
    {"sinks", &ReplyFigures::sinks},
    {"device", &ReplyFigures::device},
};

bool fits(const json& value, int64_t) { return value.is_number_integer(); }
bool fits(const json& value, double) { return value.is_number(); }
bool fits(const json& value, const std::string&) { return value.is_string(); }

}  // namespace

ReplyFigures figures_of(const GenerationReport& report, const std::string& model) {
    ReplyFigures figures;
    figures.prompt_tokens = report.prompt_tokens;
    figures.reused_tokens = report.reused_tokens;
    figures.prefilled_tokens = report.prefilled_tokens;
    figures.generated_tokens = static_cast<int64_t>(report.ids.size());
    figures.prefill_seconds = report.prefill_seconds;
    figures.decode_seconds = report.decode_seconds;
    figures.total_seconds = report.total_seconds;
    figures.stop = stop_reason_name(report.stop);
    figures.note = report.note;
    figures.model = model;
    figures.scheme = report.scheme;
    figures.window = report.window;
    figures.sinks = report.sinks;
    figures.device = report.device;
    return figures;
}

std::string figures_json(const ReplyFigures& figures) {
    json object = json::object();
    for (const Field& field : kFields)
        std::visit(
            [&](auto member) {
                const auto& value = figures.*member;
                if (value != std::decay_t<decltype(value)>()) object[field.name] = value;
            },
            field.member);
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool parse_figures(std::string_view text, ReplyFigures& figures) {
    const json object = json::parse(text, nullptr, false);
    if (!object.is_object()) return false;
    for (const Field& field : kFields) {
        const auto found = object.find(field.name);
        if (found == object.end()) continue;
        std::visit(
            [&](auto member) {
                auto& value = figures.*member;
                if (fits(*found, value)) found->get_to(value);
            },
            field.member);
    }
    return true;
}

}  // namespace octavo
