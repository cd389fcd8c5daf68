#include <fmt/format.h>

#include <algorithm>

#include "models/gguf/vocabulary.h"
#include "models/model_sources.h"
#include "models/tensors/quote_name.h"
#include "models/tokenizer/bpe_tokenizer.h"
#include "models/tokenizer/sentencepiece_tokenizer.h"

namespace octavo {
namespace {

using TokenizerResult = Result<std::shared_ptr<const Tokenizer>>;

SpecialIds special_ids(const GgufVocabulary& vocabulary) {
    return {.end_of_text = vocabulary.eos,
            .end_of_turn = vocabulary.eot,
            .padding = vocabulary.padding,
            .unknown = vocabulary.unknown};
}

TokenizerResult make_tokenizer(const GgufVocabulary& vocabulary, BpeSplit split, int vocab) {
    if (vocabulary.model == "gpt2")
        return make_bpe_tokenizer({.tokens = vocabulary.tokens,
                                   .types = vocabulary.types,
                                   .merges = vocabulary.merges,
                                   .split = split,
                                   .special = special_ids(vocabulary),
                                   .vocab_size = vocab});
    return make_sentencepiece({.tokens = vocabulary.tokens,
                               .scores = vocabulary.scores,
                               .types = vocabulary.types,
                               .special = special_ids(vocabulary),
                               .add_space_prefix = vocabulary.add_space_prefix});
}

Status read_tokenizer(const GgufMetadata& metadata, int vocab, ModelText& text) {
    const auto found = read_gguf_vocabulary(metadata, vocab);
    if (!found) return found.error();
    if (!*found) {
        set_no_tokenizer(text, "The file has no tokenizer.");
        return {};
    }
    const GgufVocabulary& vocabulary = **found;
    const std::optional<BpeSplit> split = find_bpe_split(vocabulary.pre);
    if (vocabulary.model == "gpt2" && !split) {
        set_no_tokenizer(text, fmt::format("The file's tokenizer splits text by the rule {}, which is not supported "
                                           "(known: qwen2, qwen35).",
                                           quote_name(vocabulary.pre)));
        return {};
    }
    TokenizerResult tokenizer = make_tokenizer(vocabulary, split.value_or(BpeSplit::qwen2), vocab);
    if (!tokenizer) return tokenizer.error();
    text.tokenizer = std::move(*tokenizer);
    return {};
}

struct SamplingKey {
    std::string_view key;
    std::optional<float> SamplingHints::*member;
};
constexpr SamplingKey kSamplingKeys[] = {{"general.sampling.temp", &SamplingHints::temperature},
                                         {"general.sampling.top_p", &SamplingHints::top_p},
                                         {"general.sampling.min_p", &SamplingHints::min_p},
                                         {"general.sampling.penalty_repeat", &SamplingHints::repeat_penalty}};

Result<SamplingHints> read_sampling(const GgufMetadata& metadata) {
    SamplingHints hints;
    for (const SamplingKey& key : kSamplingKeys) {
        const auto value = metadata.real(key.key);
        if (!value) return value.error();
        if (*value) hints.*key.member = static_cast<float>(**value);
    }
    const auto top_k = metadata.integer("general.sampling.top_k");
    if (!top_k) return top_k.error();
    if (*top_k) hints.top_k = static_cast<int>(std::clamp<int64_t>(**top_k, INT32_MIN, INT32_MAX));
    return hints;
}

}  // namespace

Status read_gguf_text(const GgufMetadata& metadata, int vocab, ModelText& text) {
    if (Status status = read_tokenizer(metadata, vocab, text); !status) return status;
    const auto chat = metadata.text("tokenizer.chat_template");
    if (!chat) return chat.error();
    set_chat_template(text, chat->value_or(""));
    const Result<SamplingHints> sampling = read_sampling(metadata);
    if (!sampling) return sampling.error();
    set_sampling(text, *sampling);
    return {};
}

}  // namespace octavo
