// A small hybrid model with random weights and, if wanted, a tokenizer over single bytes: for tests that need a model
// but no file.
#pragma once

#include <cstdint>
#include <memory>

#include "models/model.h"

namespace octavo::test {

// Two groups of three Gated DeltaNet layers and one attention layer; head_dim 32, four experts of which two are used
// (each takes 3 x 64 x expert_ff floats).
// 261 tokens: bytes, then <|im_start|>, <|im_end|>, <|endoftext|>, <think>, </think>. It can chat in ChatML.
std::shared_ptr<const Model> random_model(uint64_t seed = 1, int context_length = 4096, int expert_ff = 32);

// One token a byte; the control tokens above are found in markup only.
class ByteTokenizer : public Tokenizer {
  public:
    static constexpr int32_t turn_start = 256;
    static constexpr int32_t turn_end = 257;
    static constexpr int32_t text_end = 258;

    int vocab_size() const override { return 261; }
    std::string family() const override { return "bytes"; }
    Result<std::vector<int32_t>> encode(const std::vector<PromptPart>& parts) const override;
    std::string token_bytes(int32_t id) const override;
    std::string special_name(int32_t id) const override;
    int32_t special_id(std::string_view name) const override;
    const std::vector<int32_t>& stop_ids() const override { return stops_; }

  private:
    std::vector<int32_t> stops_{turn_end, text_end};
};

}  // namespace octavo::test
