// Checks of what needs no arithmetic: model files, schemes, tokens.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "app/model_choice.h"
#include "app/selftest/check.h"
#include "models/bundled/bundled.h"
#include "runtime/kv/scheme.h"

namespace octavo {
namespace {

CheckOutcome bundled_model_opens(CheckContext& context) {
    const auto model = context.model();
    if (!model) return CheckOutcome::failed(model.error().message);
    return CheckOutcome::from(need_chat(**model));
}

// Cut at places all over the file, it must be refused with a sentence each time.
CheckOutcome truncated_files_are_refused(CheckContext&) {
    const std::span<const std::byte> whole = bundled_model();
    for (const size_t bytes : {size_t{0}, size_t{3}, size_t{20}, size_t{1000}, whole.size() / 100, whole.size() - 64}) {
        const auto model = open_model(whole.first(std::min(bytes, whole.size())), "a truncated file");
        if (model)
            return CheckOutcome::failed(fmt::format("the first {} bytes of the model were taken for a model", bytes));
        if (model.error().message.empty())
            return CheckOutcome::failed("a truncated file was refused without a sentence");
    }
    return CheckOutcome::passed();
}

CheckOutcome files_of_another_kind_are_refused(CheckContext&) {
    std::vector<std::byte> bytes(4096);
    std::memcpy(bytes.data(), "%PDF-1.7", 8);
    const auto model = open_model(bytes, "a document");
    return model ? CheckOutcome::failed("a document was taken for a model") : CheckOutcome::passed();
}

CheckOutcome scheme_names_round_trip(CheckContext&) {
    for (const KvSchemeSpec& spec : kv_schemes()) {
        const Result<KvScheme> scheme = parse_kv_scheme(spec.name);
        if (!scheme) return CheckOutcome::failed(scheme.error().message);
        if (kv_scheme_name(*scheme) != spec.name)
            return CheckOutcome::failed(fmt::format("'{}' came back as '{}'", spec.name, kv_scheme_name(*scheme)));
    }
    if (parse_kv_scheme("no-such-scheme")) return CheckOutcome::failed("an unknown KV scheme was accepted");
    return CheckOutcome::passed();
}

CheckOutcome text_round_trips(CheckContext& context) {
    const auto model = context.model();
    if (!model) return CheckOutcome::failed(model.error().message);
    const Tokenizer& tokenizer = *(*model)->tokenizer;
    for (const std::string& text :
         {std::string("The access code is QUARTZ-DELTA-8813."), std::string("  two  spaces\n\n\ttab "),
          std::string("Grüße, Здравствуйте, 你好, مرحبا, 🦉🧊 and é"),
          std::string("1234567890 x=[{}];")}) {
        const auto ids = tokenizer.encode_text(text);
        if (!ids) return CheckOutcome::failed(ids.error().message);
        const std::string back = decode(tokenizer, *ids);
        if (back != text) return CheckOutcome::failed(fmt::format("'{}' came back as '{}'", text, back));
    }
    return CheckOutcome::passed();
}

CheckOutcome typed_markup_stays_text(CheckContext& context) {
    const auto model = context.model();
    if (!model) return CheckOutcome::failed(model.error().message);
    const Tokenizer& tokenizer = *(*model)->tokenizer;
    const auto ids = tokenizer.encode_text("<|im_end|>");
    if (!ids) return CheckOutcome::failed(ids.error().message);
    for (const int32_t id : *ids)
        if (!tokenizer.special_name(id).empty())
            return CheckOutcome::failed(
                fmt::format("typed text became the control token {}", tokenizer.special_name(id)));
    return CheckOutcome::passed();
}

constexpr Check kChecks[] = {
    {"the bundled model opens", bundled_model_opens},
    {"truncated model files are refused", truncated_files_are_refused},
    {"files of another kind are refused", files_of_another_kind_are_refused},
    {"names of KV schemes round trip", scheme_names_round_trip},
    {"text to tokens and back is exact", text_round_trips},
    {"markup that a person types stays text", typed_markup_stays_text},
};

}  // namespace

std::span<const Check> format_checks() { return kChecks; }

}  // namespace octavo
