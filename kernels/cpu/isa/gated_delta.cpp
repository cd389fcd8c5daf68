// The gated delta rule for one value head: token by token, or by chunks (model_spec, 4.5 and 4.7).
#include "kernels/cpu/isa/mixers.h"
#include "kernels/cpu/isa/tiles.h"

namespace octavo::OCTAVO_ISA {
namespace {

template <bool Part>
VecF load_columns(const float* p, int count) {
    if constexpr (Part) return load_part(p, count);
    return load(p);
}
template <bool Part>
void store_columns(float* p, VecF x, int count) {
    if constexpr (Part) {
        store_first(p, x, count);
    } else {
        store(p, x);
    }
}

// V vectors of columns from `column` on; with Part one vector, of which the first `count` lanes exist.
template <int V, bool Part>
void recur_columns(const DeltaHead& head, int column, int count) {
    for (int t = 0; t < head.tokens; ++t) {
        const float* const q = head.q + t * head.qk_stride;
        const float* const k = head.k + t * head.qk_stride;
        const VecF decay = exp(set1(head.g[t * head.gate_stride]));
        const VecF beta = set1(head.beta[t * head.gate_stride]);

        // S^T k, even and odd rows apart: one chain of additions would be slower than the loads.
        VecF even[V];
        VecF odd[V];
        for (int v = 0; v < V; ++v) even[v] = odd[v] = zero();
        const float* row = head.state + column;
        for (int i = 0; i < head.key_dim; i += 2, row += 2 * head.state_stride) {
            const VecF key = set1(k[i]);
            const VecF next_key = set1(k[i + 1]);
            for (int v = 0; v < V; ++v) {
                even[v] = fma(key, load_columns<Part>(row + v * kLanes, count), even[v]);
                odd[v] = fma(next_key, load_columns<Part>(row + head.state_stride + v * kLanes, count), odd[v]);
            }
        }

        VecF delta[V];
        VecF out[V];
        for (int v = 0; v < V; ++v) {
            const VecF value = load_columns<Part>(head.v + t * head.v_stride + column + v * kLanes, count);
            delta[v] = mul(beta, sub(value, mul(decay, add(even[v], odd[v]))));
            out[v] = zero();
        }

        float* state = head.state + column;
        for (int i = 0; i < head.key_dim; ++i, state += head.state_stride) {
            const VecF key = set1(k[i]);
            const VecF query = set1(q[i]);
            for (int v = 0; v < V; ++v) {
                const VecF old = load_columns<Part>(state + v * kLanes, count);
                const VecF updated = fma(key, delta[v], mul(decay, old));
                store_columns<Part>(state + v * kLanes, updated, count);
                out[v] = fma(query, updated, out[v]);
            }
        }
        for (int v = 0; v < V; ++v) {
            store_columns<Part>(head.out + t * head.out_stride + column + v * kLanes, out[v], count);
        }
    }
}

void copy_rows(const float* from, int64_t from_stride, int rows, int columns, float* to, int64_t to_stride) {
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) to[r * to_stride + c] = from[r * from_stride + c];
    }
}

void scale_row(float* row, int width, VecF factor) {
    for (int d = 0; d < width; d += kLanes) store(row + d, mul(load(row + d), factor));
}

// Scratch of one head's chunks, see delta_scratch_floats.
struct ChunkScratch {
    float* q;          // [chunk][key_width]: exp(G_i) q_i
    float* k;          // [chunk][key_width]: exp(G_n - G_j) k_j
    float* value;      // [chunk][width]: Vn
    float* out;        // [chunk][width]
    float* mixing;     // [chunk][chunk]: -A, strictly lower
    float* scores;     // [chunk][chunk]: (q_i . k_j) D_ij, lower
    float* state;      // [key_dim][width], zero beyond the columns
    float* log_decay;  // [3 * chunk]: G, then exp(G), then what float32 leaves out of G
};

ChunkScratch carve_scratch(float* scratch, int key_width, int width) {
    ChunkScratch s;
    s.q = scratch;
    s.k = s.q + kDeltaChunk * key_width;
    s.value = s.k + kDeltaChunk * key_width;
    s.out = s.value + kDeltaChunk * width;
    s.mixing = s.out + kDeltaChunk * width;
    s.scores = s.mixing + kDeltaChunk * kDeltaChunk;
    s.state = s.scores + kDeltaChunk * kDeltaChunk;
    s.log_decay = s.state + int64_t{key_width} * width;
    return s;
}

// Rows and columns of the chunk's square matrices are done in blocks of this many.
constexpr int kBlock = 4;

int block_end(int row, int n) { return row + kBlock < n ? row + kBlock : n; }

// `mixing` and `scores` of a chunk, including the zeros of the diagonal blocks that products run over.
void build_square_matrices(const DeltaHead& head, int n, const ChunkScratch& s) {
    const float* const rests = s.log_decay + 2 * kDeltaChunk;
    for (int first = 0; first < n; first += kBlock) {
        const int end = block_end(first, n);
        const int64_t at = first * head.qk_stride;
        dot_rows(head.k + at, head.qk_stride, end - first, head.k, head.qk_stride, end, 0, head.key_width,
                 s.mixing + first * kDeltaChunk, kDeltaChunk);
        dot_rows(head.q + at, head.qk_stride, end - first, head.k, head.qk_stride, end, 0, head.key_width,
                 s.scores + first * kDeltaChunk, kDeltaChunk);
        for (int i = first; i < end; ++i) {
            float* const mixing = s.mixing + i * kDeltaChunk;
            float* const scores = s.scores + i * kDeltaChunk;
            const VecF own = set1(s.log_decay[i]);
            const VecF own_rest = set1(rests[i]);
            const VecF minus_beta = set1(-head.beta[i * head.gate_stride]);
            // Later tokens have a smaller G: their factors are cut to 1, then zeroed below.
            for (int j = 0; j < end; j += kLanes) {
                const VecF rest = sub(own_rest, load(rests + j));
                const VecF decay = exp(min(add(sub(own, load(s.log_decay + j)), rest), zero()));
                store(mixing + j, mul(mul(load(mixing + j), minus_beta), decay));
                store(scores + j, mul(load(scores + j), decay));
            }
            for (int j = i; j < end; ++j) mixing[j] = 0;
            for (int j = i + 1; j < end; ++j) scores[j] = 0;
        }
    }
}

// value <- (I + A)^-1 value by forward substitution, a block of rows at a time.
void solve_lower(int n, int width, const ChunkScratch& s) {
    for (int first = 0; first < n; first += kBlock) {
        const int end = block_end(first, n);
        float* const rows = s.value + first * width;
        multiply_rows({s.mixing + first * kDeltaChunk, kDeltaChunk, 1}, end - first, first, 0, s.value, width, width,
                      rows, width);
        for (int i = first + 1; i < end; ++i) {
            multiply_rows({s.mixing + i * kDeltaChunk + first, kDeltaChunk, 1}, 1, i - first, 0, rows, width, width,
                          s.value + i * width, width);
        }
    }
}

// The first n tokens of `head`; the state is in the scratch.
void chunk_step(const DeltaHead& head, int n, const ChunkScratch& s) {
    const int width = padded_width(head.columns);
    const int key_width = head.key_width;
    float* const log_decay = s.log_decay;
    float* const decay = s.log_decay + kDeltaChunk;
    float* const rests = s.log_decay + 2 * kDeltaChunk;
    // G grows over the chunk while its differences stay small: as one float32 it would lose their last digits.
    double total = 0;
    for (int i = 0; i < kDeltaChunk; ++i) {
        if (i < n) total += head.g[i * head.gate_stride];
        log_decay[i] = static_cast<float>(total);
        rests[i] = static_cast<float>(total - static_cast<double>(log_decay[i]));
    }
    for (int i = 0; i < kDeltaChunk; i += kLanes) store(decay + i, exp(load(log_decay + i)));

    build_square_matrices(head, n, s);

    // value = beta (v - exp(G) k S)
    for (int i = 0; i < n * width; i += kLanes) store(s.value + i, zero());
    multiply_rows({head.k, head.qk_stride, 1}, n, head.key_dim, 0, s.state, width, width, s.value, width);
    for (int i = 0; i < n; ++i) {
        const VecF beta = set1(head.beta[i * head.gate_stride]);
        const VecF factor = set1(decay[i]);
        const float* const v = head.v + i * head.v_stride;
        float* const value = s.value + i * width;
        for (int d = 0; d < head.columns; d += kLanes) {
            const int count = head.columns - d;
            const VecF own = count < kLanes ? load_part(v + d, count) : load(v + d);
            store(value + d, mul(beta, sub(own, mul(factor, load(value + d)))));
        }
    }
    solve_lower(n, width, s);

    // out = exp(G) q S + scores value
    for (int i = 0; i < n; ++i) {
        for (int d = 0; d < key_width; d += kLanes) {
            store(s.q + i * key_width + d, mul(load(head.q + i * head.qk_stride + d), set1(decay[i])));
        }
    }
    for (int i = 0; i < n * width; i += kLanes) store(s.out + i, zero());
    multiply_rows({s.q, key_width, 1}, n, head.key_dim, 0, s.state, width, width, s.out, width);
    for (int first = 0; first < n; first += kBlock) {
        const int end = block_end(first, n);
        multiply_rows({s.scores + first * kDeltaChunk, kDeltaChunk, 1}, end - first, end, 0, s.value, width, width,
                      s.out + first * width, width);
    }
    copy_rows(s.out, width, n, head.columns, head.out, head.out_stride);

    // S = exp(G_n) S + sum over j of exp(G_n - G_j) k_j value_j^T
    for (int i = 0; i < n; ++i) {
        const double later = total - static_cast<double>(log_decay[i]) - static_cast<double>(rests[i]);
        const VecF rest = exp(set1(static_cast<float>(later)));
        for (int d = 0; d < key_width; d += kLanes) {
            store(s.k + i * key_width + d, mul(load(head.k + i * head.qk_stride + d), rest));
        }
    }
    for (int i = 0; i < head.key_dim; ++i) scale_row(s.state + i * width, width, set1(decay[n - 1]));
    multiply_rows({s.k, 1, key_width}, head.key_dim, n, 0, s.value, width, width, s.state, width);
}

DeltaHead from_token(const DeltaHead& head, int token) {
    DeltaHead later = head;
    later.tokens -= token;
    later.q += token * head.qk_stride;
    later.k += token * head.qk_stride;
    later.v += token * head.v_stride;
    later.beta += token * head.gate_stride;
    later.g += token * head.gate_stride;
    later.out += token * head.out_stride;
    return later;
}

}  // namespace

void delta_recurrent(const DeltaHead& head) {
    constexpr int kVectors = 4;
    int column = 0;
    for (; column + kVectors * kLanes <= head.columns; column += kVectors * kLanes) {
        recur_columns<kVectors, false>(head, column, 0);
    }
    if (column + 2 * kLanes <= head.columns) {
        recur_columns<2, false>(head, column, 0);
        column += 2 * kLanes;
    }
    if (column + kLanes <= head.columns) {
        recur_columns<1, false>(head, column, 0);
        column += kLanes;
    }
    if (column < head.columns) recur_columns<1, true>(head, column, head.columns - column);
}

void delta_chunked(const DeltaHead& head, float* scratch) {
    const int width = padded_width(head.columns);
    const ChunkScratch s = carve_scratch(scratch, head.key_width, width);
    for (int64_t i = 0; i < int64_t{head.key_dim} * width; i += kLanes) store(s.state + i, zero());
    copy_rows(head.state, head.state_stride, head.key_dim, head.columns, s.state, width);
    for (int token = 0; token < head.tokens; token += kDeltaChunk) {
        const int left = head.tokens - token;
        chunk_step(from_token(head, token), left < kDeltaChunk ? left : kDeltaChunk, s);
    }
    copy_rows(s.state, width, head.key_dim, head.columns, head.state, head.state_stride);
}

void normalise_row(const float* x, int count, float scale, float* y, int width) {
    VecF squares = zero();
    int d = 0;
    for (; d + kLanes <= count; d += kLanes) squares = fma(load(x + d), load(x + d), squares);
    for (; d < width; d += kLanes) {  // the last part, then zeros
        const VecF part = d < count ? load_part(x + d, count - d) : zero();
        squares = fma(part, part, squares);
        store(y + d, part);
    }
    const VecF factor = set1(scale / __builtin_sqrtf(reduce_add(squares) + 1e-6f));
    d = 0;
    for (; d + kLanes <= count; d += kLanes) store(y + d, mul(load(x + d), factor));
    for (; d < width; d += kLanes) store(y + d, mul(load(y + d), factor));
}

}  // namespace octavo::OCTAVO_ISA
