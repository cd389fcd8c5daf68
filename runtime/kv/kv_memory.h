// What a KV cache costs: exact integers in bytes. An interface rounds once, at the end.
//
// Threads: pure functions.
// Source: kv_formats (the design), section 5.
#pragma once

#include <cstdint>

#include "models/hybrid/config.h"
#include "runtime/kv/scheme.h"

namespace octavo {

// The part of a model that its KV cache depends on.
struct KvShape {
    int layers = 0;  // full-attention layers only
    int kv_heads = 0;
    int head_dim = 0;
};

KvShape kv_shape(const HybridConfig& config);

// One cell of one layer.
struct KvCellBytes {
    int64_t k_payload = 0;
    int64_t k_scales = 0;
    int64_t v_payload = 0;
    int64_t v_scales = 0;

    int64_t total() const { return k_payload + k_scales + v_payload + v_scales; }
};

KvCellBytes kv_cell_bytes(const KvShape& shape, const KvScheme& scheme);

// All layers, payload and scales.
int64_t kv_bytes_per_token(const KvShape& shape, const KvScheme& scheme);

// What the pools of `cells` cells take in pages of `page_bytes`.
int64_t kv_pool_bytes(const KvShape& shape, const KvScheme& scheme, int64_t cells, int64_t page_bytes);

// Whole tokens that fit into `bytes`; 0 where a token costs nothing (a model without full attention).
int64_t kv_tokens_in(int64_t bytes, const KvShape& shape, const KvScheme& scheme);

}  // namespace octavo
