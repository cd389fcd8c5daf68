#include "models/model_text.h"

#include <fmt/format.h>

#include <string_view>

#include "models/model_sources.h"

namespace octavo {
namespace {

// Takes a value that a sampler accepts; of another one a note remains.
template <class T>
void take(std::optional<T>& to, std::optional<T> from, bool sensible, std::string_view name,
          std::vector<std::string>& notes) {
    if (!from) return;
    if (sensible) {
        to = from;
    } else {
        notes.push_back(
            fmt::format("The file recommends a {} of {}, which makes no sense and is not used.", name, *from));
    }
}

}  // namespace

void set_no_tokenizer(ModelText& text, const std::string& reason) {
    text.tokenizer_error = reason;
    text.notes.push_back(reason + " Only token ids can be used.");
}

void set_chat_template(ModelText& text, std::string_view source) {
    if (source.empty()) text.notes.emplace_back("The file has no chat template; plain ChatML is used.");
    text.chat = ChatTemplate::detect(source);
    if (!text.chat->note().empty()) text.notes.push_back(text.chat->note());
}

void set_sampling(ModelText& text, const SamplingHints& hints) {
    const auto within = [](std::optional<float> value, float least, float most) {
        return value && *value >= least && *value <= most;
    };
    SamplingHints& sampling = text.sampling;
    take(sampling.temperature, hints.temperature, within(hints.temperature, 0, 100), "temperature", text.notes);
    take(sampling.top_k, hints.top_k, hints.top_k.value_or(0) >= 0, "top-k", text.notes);
    take(sampling.top_p, hints.top_p, within(hints.top_p, 1e-6f, 1), "top-p", text.notes);
    take(sampling.min_p, hints.min_p, within(hints.min_p, 0, 1), "min-p", text.notes);
    take(sampling.repeat_penalty, hints.repeat_penalty, within(hints.repeat_penalty, 0.01f, 100), "repeat penalty",
         text.notes);
}

}  // namespace octavo
