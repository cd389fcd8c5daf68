// Sizes of real models, and of a small one, by name: what random-weight files can be made like.
//
// Threads: pure functions. Source: model_spec section 1.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/hybrid/config_reader.h"

namespace octavo {

struct ModelShape {
    std::string_view name;          // "35b-a3b"
    std::string_view architecture;  // general.architecture
    std::string_view split_rule;    // tokenizer.ggml.pre
    int first_added_token = 0;      // id of <|endoftext|>, which all others follow
    double theta = 0;               // base of the rotary frequencies
    int layers, vocab, context_length, hidden, heads, head_dim, rope_dims;
    int gdn_key_heads, gdn_value_heads, gdn_dim, experts, experts_used, expert_ff;
};

std::span<const ModelShape> model_shapes();
// nullptr: there is none of that name.
const ModelShape* find_model_shape(std::string_view name);
std::string model_shape_names();  // "35b-a3b, 80b-a3b, tiny"

// The bytes, a few merges, and the added tokens.
inline constexpr int kSmallestVocab = 512;

struct ShapeChanges {
    int layers = 0;      // 0: as the shape says
    int experts = 0;     // 0: as the shape says
    int vocab = 0;       // 0: as the shape says; at least kSmallestVocab
    bool draft = false;  // with one MTP block
};

// Id of <|endoftext|>, which the other added tokens follow.
int first_added_token(const ModelShape& shape, const ShapeChanges& changes);

// Every size of a file of that shape; rotary frequencies and the head map, which files do not hold, stay empty.
HybridDescription describe_shape(const ModelShape& shape, const ShapeChanges& changes);

}  // namespace octavo
