// Text to token ids and back. Two families stand behind it: SentencePiece and byte-level BPE.
//
// Threads: const methods may be called from any thread.
// Non-goals: no normalisation beyond the vocabulary's own, no truncation, no automatic BOS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace octavo {

// A stretch of a prompt. Special tokens ("<|im_start|>") are recognised only in markup: what a person types or pastes
// can never become a control token.
struct PromptPart {
    std::string text = {};
    bool markup = false;
    // Not empty: these tokens stand here as they are and `text` is not looked at. So a reply in the history keeps the
    // exact tokens that were generated, which its text need not give back.
    std::vector<int32_t> ids = {};
};

class Tokenizer {
  public:
    virtual ~Tokenizer() = default;

    virtual int vocab_size() const = 0;
    virtual std::string family() const = 0;  // "SentencePiece BPE", for people

    // Parts are joined before encoding: only special tokens inside markup cut the text. The error names the place of
    // text that the vocabulary cannot express.
    virtual Result<std::vector<int32_t>> encode(const std::vector<PromptPart>& parts) const = 0;

    // The raw bytes that token `id` stands for; empty for control tokens and for ids outside the vocabulary.
    virtual std::string token_bytes(int32_t id) const = 0;
    // Name of a special token, or empty: "<|im_end|>".
    virtual std::string special_name(int32_t id) const = 0;
    // -1 when there is no such special token.
    virtual int32_t special_id(std::string_view name) const = 0;
    // Tokens that end a reply (end of turn, end of text).
    virtual const std::vector<int32_t>& stop_ids() const = 0;

    Result<std::vector<int32_t>> encode_text(std::string_view text) const {
        return encode({PromptPart{std::string(text), false}});
    }
};

// Turns a stream of tokens into valid UTF-8: never emits half a character; broken bytes become U+FFFD.
class StreamDecoder {
  public:
    explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
    std::string feed(int32_t id);  // complete characters only; may be empty
    std::string finish();          // what is left, with U+FFFD for an unfinished character

  private:
    const Tokenizer* tokenizer_;
    std::string pending_;  // at most 3 bytes of an unfinished character
};

std::string decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids);

}  // namespace octavo
