#include "models/gguf/vocabulary.h"

#include <fmt/format.h>

#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kSpaceKey = "tokenizer.ggml.add_space_prefix";
// Above every real vocabulary; bounds what a hostile one takes.
constexpr uint64_t kLimit = 1 << 22;

struct IdKey {
    std::string_view key;
    int32_t GgufVocabulary::*member;
};
constexpr IdKey kIdKeys[] = {{"tokenizer.ggml.eos_token_id", &GgufVocabulary::eos},
                             {"tokenizer.ggml.eot_token_id", &GgufVocabulary::eot},
                             {"tokenizer.ggml.padding_token_id", &GgufVocabulary::padding},
                             {"tokenizer.ggml.unknown_token_id", &GgufVocabulary::unknown}};

template <class... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::input, fmt::format(format, std::forward<Args>(args)...)};
}

Status check_length(std::string_view key, size_t length, size_t tokens) {
    if (length == 0 || length == tokens) return {};
    return bad("key '{}' has {} entries for {} tokens", key, length, tokens);
}

Status read_tokens(const GgufMetadata& metadata, int vocab, GgufVocabulary& vocabulary) {
    const GgufEntry* entry = metadata.find(kTokensKey);
    if (!entry) return missing_key(kTokensKey);
    if (vocab > 0 && entry->type == GgufType::array && entry->count > static_cast<uint64_t>(vocab)) {
        return bad("key '{}' has {} tokens, but the embedding has {} rows", kTokensKey, entry->count, vocab);
    }
    auto tokens = metadata.texts(kTokensKey, kLimit);
    if (!tokens) return tokens.error();
    vocabulary.tokens = std::move(**tokens);
    if (vocabulary.tokens.empty()) return bad("key '{}' is empty", kTokensKey);
    return {};
}

Status read_scores_and_types(const GgufMetadata& metadata, GgufVocabulary& vocabulary) {
    const size_t count = vocabulary.tokens.size();
    auto scores = metadata.reals(kScoresKey, kLimit);
    if (!scores) return scores.error();
    if (*scores) vocabulary.scores = std::move(**scores);
    if (Status status = check_length(kScoresKey, vocabulary.scores.size(), count); !status) return status;

    const auto types = metadata.integers(kTypesKey, kLimit);
    if (!types) return types.error();
    if (!*types) return {};
    for (const int64_t type : **types) {
        if (type < INT32_MIN || type > INT32_MAX) return bad("key '{}' holds {}, which is no type", kTypesKey, type);
        vocabulary.types.push_back(static_cast<int32_t>(type));
    }
    return check_length(kTypesKey, vocabulary.types.size(), count);
}

Status read_merges(const GgufMetadata& metadata, GgufVocabulary& vocabulary) {
    if (vocabulary.model != "gpt2") return {};
    auto merges = metadata.texts(kMergesKey, kLimit);
    if (!merges) return merges.error();
    if (!*merges) return missing_key(kMergesKey);
    vocabulary.merges = std::move(**merges);
    return {};
}

Status read_ids(const GgufMetadata& metadata, GgufVocabulary& vocabulary) {
    for (const IdKey& id : kIdKeys) {
        const auto value = metadata.integer(id.key);
        if (!value) return value.error();
        if (!*value) continue;
        if (**value < 0 || **value >= static_cast<int64_t>(vocabulary.tokens.size())) {
            return bad("key '{}' is {}, but there are {} tokens", id.key, **value, vocabulary.tokens.size());
        }
        vocabulary.*id.member = static_cast<int32_t>(**value);
    }
    return {};
}

}  // namespace

Result<std::optional<GgufVocabulary>> read_gguf_vocabulary(const GgufMetadata& metadata, int vocab) {
    const auto model = metadata.text(kModelKey);
    if (!model) return model.error();
    if (!*model) return std::optional<GgufVocabulary>();
    GgufVocabulary vocabulary;
    vocabulary.model = **model;
    if (vocabulary.model != "llama" && vocabulary.model != "gpt2") {
        return bad("key '{}' is {}; supported are llama (SentencePiece) and gpt2 (byte-level BPE)", kModelKey,
                   quote_name(vocabulary.model));
    }
    const auto pre = metadata.text("tokenizer.ggml.pre");
    if (!pre) return pre.error();
    vocabulary.pre = pre->value_or("");
    const auto space = metadata.boolean(kSpaceKey);
    if (!space) return space.error();
    vocabulary.add_space_prefix = space->value_or(true);
    if (Status status = read_tokens(metadata, vocab, vocabulary); !status) return status.error();
    if (Status status = read_scores_and_types(metadata, vocabulary); !status) return status.error();
    if (Status status = read_merges(metadata, vocabulary); !status) return status.error();
    if (Status status = read_ids(metadata, vocabulary); !status) return status.error();
    return std::optional(std::move(vocabulary));
}

}  // namespace octavo
