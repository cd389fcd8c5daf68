// What tokenizers share whose vocabulary is a table: what the ids stand for, and the way from a prompt to its
// stretches. A Vocabulary has `bytes`, `names`, `specials` and `stop_ids`, as in bpe_vocabulary.h.
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/tokenizer/token_matcher.h"
#include "models/tokenizer/tokenizer.h"

namespace octavo {

template <class Vocabulary>
class VocabularyTokenizer : public Tokenizer {
  public:
    explicit VocabularyTokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

    int vocab_size() const final { return static_cast<int>(vocabulary_.bytes.size()); }
    std::string token_bytes(int32_t id) const final { return has(id) ? vocabulary_.bytes[id] : std::string(); }
    std::string special_name(int32_t id) const final { return has(id) ? vocabulary_.names[id] : std::string(); }
    int32_t special_id(std::string_view name) const final { return vocabulary_.specials.find(name); }
    const std::vector<int32_t>& stop_ids() const final { return vocabulary_.stop_ids; }

  protected:
    // make_encoder(): an object with `Status add(const PromptStretch&)`, called in order, and `take()`, the tokens.
    template <class MakeEncoder>
    Result<std::vector<int32_t>> encode_with(const std::vector<PromptPart>& parts, MakeEncoder make_encoder) const {
        try {
            Result<std::vector<PromptStretch>> stretches = cut_prompt(parts, vocabulary_.specials, vocab_size());
            if (!stretches) return stretches.error();
            auto encoder = make_encoder();
            for (const PromptStretch& stretch : *stretches)
                if (Status status = encoder.add(stretch); !status) return status.error();
            return encoder.take();
        } catch (const std::bad_alloc&) {
            return Error{ErrorKind::memory, "There is not enough memory to turn the text into tokens."};
        }
    }

    Vocabulary vocabulary_;

  private:
    bool has(int32_t id) const { return id >= 0 && id < vocab_size(); }
};

}  // namespace octavo
