#include <algorithm>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar_math.h"

namespace octavo::reference {
namespace {

struct Choice {
    int64_t expert = 0;
    double probability = 0;
};

// The top_k experts of one token, best first. A tie goes to the lower index. The softmax over all experts,
// renormalised over the chosen, is the softmax over the chosen.
std::vector<Choice> route(const float* logits, int64_t experts, int64_t top_k) {
    std::vector<Choice> chosen;
    std::vector<bool> taken(static_cast<size_t>(experts));
    while (static_cast<int64_t>(chosen.size()) < std::min(top_k, experts)) {
        int64_t best = -1;
        for (int64_t e = 0; e < experts; ++e) {
            if (!taken[e] && (best < 0 || logits[e] > logits[best])) best = e;
        }
        taken[best] = true;
        chosen.push_back({best});
    }
    double sum = 0;
    for (Choice& choice : chosen) {
        choice.probability = std::exp(static_cast<double>(logits[choice.expert]) - logits[chosen[0].expert]);
        sum += choice.probability;
    }
    for (Choice& choice : chosen) choice.probability /= sum;
    return chosen;
}

// y[hidden] += factor * down( SiLU(gate x) * (up x) )
void add_ffn(const FfnMatrices& ffn, const float* x, double factor, std::vector<double>& y) {
    std::vector<double> inner(static_cast<size_t>(ffn.gate.rows));
    for (int64_t r = 0; r < ffn.gate.rows; ++r) {
        const double gate = ffn.gate.scale * dot(decode_row(ffn.gate, r).data(), x, ffn.gate.cols);
        const double up = ffn.up.scale * dot(decode_row(ffn.up, r).data(), x, ffn.up.cols);
        inner[r] = silu(gate) * up;
    }
    for (int64_t r = 0; r < ffn.down.rows; ++r) {
        y[r] += factor * ffn.down.scale * dot(decode_row(ffn.down, r).data(), inner.data(), ffn.down.cols);
    }
}

}  // namespace

void moe(const Moe& op) {
    const int64_t experts = static_cast<int64_t>(op.experts.size());
    for (int64_t t = 0; t < op.tokens; ++t) {
        const float* x = op.x + t * op.hidden;
        float* y = op.y + t * op.hidden;
        std::vector<double> sum(y, y + op.hidden);
        if (experts > 0) {
            for (const Choice& choice : route(op.router_logits + t * experts, experts, op.top_k)) {
                const FfnMatrices& expert = op.experts[choice.expert];
                if (!expert.absent()) add_ffn(expert, x, choice.probability, sum);
            }
        }
        if (op.shared != nullptr) {
            const double gate = op.shared_gate == nullptr ? 1 : sigmoid(op.shared_gate[t]);
            add_ffn(*op.shared, x, gate, sum);
        }
        std::transform(sum.begin(), sum.end(), y, [](double value) { return static_cast<float>(value); });
    }
}

}  // namespace octavo::reference
