// The file format of SentencePiece (`tokenizer.model`, a protobuf message), read and written by hand: libsentencepiece
// trusts its input, so nothing of a person's file reaches it; it loads only what is written here from checked tokens.
//
// Source: the field numbers of the public sentencepiece_model.proto (proto2).
// Non-goals: unigram, word and char models, text normalisation, self-test samples. Such files are refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace octavo {

// The numbering of the file and of GGUF's `tokenizer.ggml.token_type`.
enum class PieceType : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// Four times the largest vocabulary in use; bounds what a hostile file can make us allocate.
inline constexpr std::size_t max_sentencepiece_tokens = 1 << 20;

// [vocab] each. The views point into the serialized model.
struct SentencePieceModel {
    std::vector<std::string_view> tokens;
    std::vector<float> scores;
    std::vector<int32_t> types;  // as in the file, unchecked
    bool add_space_prefix = true;
};

Result<SentencePieceModel> read_sentencepiece_model(std::string_view serialized);

// Builds a BPE model that changes no text except that a space becomes U+2581.
class SentencePieceWriter {
  public:
    void add(std::string_view piece, float score, PieceType type);
    std::string finish(bool byte_fallback, int32_t unknown_id);

  private:
    std::string bytes_;
    int32_t count_ = 0;
};

}  // namespace octavo
