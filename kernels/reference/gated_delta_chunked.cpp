// The delta rule for a chunk of tokens at once, exactly equal to the recurrent form (model_spec 4.7).
// With G_i the sum of g up to and including token i of the chunk, and D_ij = exp(G_i - G_j):
//   A_ij = beta_i (k_i . k_j) D_ij for j < i            what later writes must take back of earlier ones
//   (I + A) U = beta v                                  writes, as if the incoming state were zero
//   (I + A) W = beta exp(G) k                           how the incoming state changes them
//   V = U - W S                                         the writes
//   out_i = exp(G_i) S^T q_i + sum over j <= i of (q_i . k_j) D_ij V_j
//   S <- exp(G_last) S + sum over j of exp(G_last - G_j) k_j V_j^T
#include <algorithm>

#include "kernels/reference/gated_delta.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {
namespace {

constexpr int64_t kChunkTokens = 64;

using Row = std::vector<double>;

void add_scaled(double factor, const Row& x, Row& y) {
    for (size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}

// S^T x for s: key_dim rows of value_dim
Row read_state(const std::vector<Row>& s, const Row& x) {
    Row y(s.front().size());
    for (size_t i = 0; i < s.size(); ++i) add_scaled(x[i], s[i], y);
    return y;
}

double dot_rows(const Row& a, const Row& b) { return dot(a.data(), b.data(), static_cast<int64_t>(a.size())); }

// The chunk's tokens, with G.
struct Chunk {
    std::vector<DeltaToken> tokens;
    Row sum_g;  // [tokens]

    double decay(size_t to, size_t from) const { return std::exp(sum_g[to] - sum_g[from]); }
};

Chunk load_chunk(const GatedDelta& op, int64_t first, int64_t count, int64_t head) {
    Chunk chunk;
    double sum = 0;
    for (int64_t t = first; t < first + count; ++t) {
        chunk.tokens.push_back(delta_token(op, t, head));
        chunk.sum_g.push_back(sum += chunk.tokens.back().g);
    }
    return chunk;
}

// V [tokens][value_dim]: what each token writes under its key. U and W come from forward substitution.
std::vector<Row> chunk_writes(const Chunk& chunk, const std::vector<Row>& s) {
    std::vector<Row> u;
    std::vector<Row> w;
    std::vector<Row> writes;
    for (size_t i = 0; i < chunk.tokens.size(); ++i) {
        const DeltaToken& token = chunk.tokens[i];
        u.emplace_back(token.v, token.v + s.front().size());
        w.push_back(token.k);
        for (double& value : u[i]) value *= token.beta;
        for (double& value : w[i]) value *= token.beta * std::exp(chunk.sum_g[i]);
        for (size_t j = 0; j < i; ++j) {
            const double a = token.beta * dot_rows(token.k, chunk.tokens[j].k) * chunk.decay(i, j);
            add_scaled(-a, u[j], u[i]);
            add_scaled(-a, w[j], w[i]);
        }
        writes.push_back(u[i]);
        add_scaled(-1, read_state(s, w[i]), writes[i]);
    }
    return writes;
}

Row chunk_output(const Chunk& chunk, const std::vector<Row>& s, const std::vector<Row>& writes, size_t i) {
    const Row& q = chunk.tokens[i].q;
    Row out(s.front().size());
    add_scaled(std::exp(chunk.sum_g[i]), read_state(s, q), out);
    for (size_t j = 0; j <= i; ++j) {
        add_scaled(dot_rows(q, chunk.tokens[j].k) * chunk.decay(i, j), writes[j], out);
    }
    return out;
}

void advance_state(const Chunk& chunk, const std::vector<Row>& writes, std::vector<Row>& s) {
    const size_t last = chunk.tokens.size() - 1;
    for (size_t i = 0; i < s.size(); ++i) {
        for (double& value : s[i]) value *= std::exp(chunk.sum_g[last]);
        for (size_t j = 0; j <= last; ++j) add_scaled(chunk.decay(last, j) * chunk.tokens[j].k[i], writes[j], s[i]);
    }
}

void round_to_float(const Row& from, float* to) {
    std::transform(from.begin(), from.end(), to, [](double value) { return static_cast<float>(value); });
}

}  // namespace

void gated_delta_chunked(const GatedDelta& op) {
    for (int64_t head = 0; head < op.value_heads; ++head) {
        float* state = delta_state(op, head);
        std::vector<Row> s;  // [key_dim][value_dim]
        for (int64_t i = 0; i < op.key_dim; ++i) {
            s.emplace_back(state + i * op.value_dim, state + (i + 1) * op.value_dim);
        }
        for (int64_t first = 0; first < op.tokens; first += kChunkTokens) {
            const int64_t count = std::min(kChunkTokens, op.tokens - first);
            const Chunk chunk = load_chunk(op, first, count, head);
            const std::vector<Row> writes = chunk_writes(chunk, s);
            for (int64_t i = 0; i < count; ++i) {
                round_to_float(chunk_output(chunk, s, writes, static_cast<size_t>(i)), delta_out(op, first + i, head));
            }
            advance_state(chunk, writes, s);
        }
        for (int64_t i = 0; i < op.key_dim; ++i) round_to_float(s[i], state + i * op.value_dim);
    }
}

}  // namespace octavo::reference
