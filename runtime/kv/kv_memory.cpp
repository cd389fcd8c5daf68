#include "runtime/kv/kv_memory.h"

namespace octavo {

KvShape kv_shape(const HybridConfig& config) { return {config.attention_layers(), config.kv_heads, config.head_dim}; }

KvCellBytes kv_cell_bytes(const KvShape& shape, const KvScheme& scheme) {
    const int64_t heads = shape.kv_heads;
    return {heads * kv_payload_bytes_per_row(scheme.k, shape.head_dim),
            heads * kv_scale_bytes_per_row(scheme.k, shape.head_dim),
            heads * kv_payload_bytes_per_row(scheme.v, shape.head_dim),
            heads * kv_scale_bytes_per_row(scheme.v, shape.head_dim)};
}

int64_t kv_bytes_per_token(const KvShape& shape, const KvScheme& scheme) {
    return shape.layers * kv_cell_bytes(shape, scheme).total();
}

int64_t kv_pool_bytes(const KvShape& shape, const KvScheme& scheme, int64_t cells, int64_t page_bytes) {
    const KvCellBytes cell = kv_cell_bytes(shape, scheme);
    int64_t pages = 0;
    for (const int64_t bytes : {cell.k_payload, cell.k_scales, cell.v_payload, cell.v_scales}) {
        pages += (cells * bytes + page_bytes - 1) / page_bytes;
    }
    return shape.layers * pages * page_bytes;
}

int64_t kv_tokens_in(int64_t bytes, const KvShape& shape, const KvScheme& scheme) {
    const int64_t per_token = kv_bytes_per_token(shape, scheme);
    return per_token > 0 ? bytes / per_token : 0;
}

}  // namespace octavo
