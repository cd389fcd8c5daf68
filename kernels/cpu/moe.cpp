// The feed-forward part: tokens are grouped by expert (the shared expert is one more group, with all tokens), then two
// parallel regions: h = SiLU(gate x) * up x over (group, rows of ff), and y += sum of weight * down h over rows of the
// output. A task of the second region walks all groups in ascending order, so each output is summed in one fixed
// order: experts by index, the shared one last, whatever else is in the call. Where weights take activations rounded to
// 8 bits, x is rounded before the first region and h by its tasks.
//
// One code path serves decode and prefill; panels with few tokens read the weights in place, others unpack them.
#include <cassert>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"

namespace octavo {

namespace {

// The tokens of one expert.
struct Group {
    const FfnMatrices* ffn = nullptr;
    const int32_t* tokens = nullptr;  // [count]; nullptr: 0, 1, 2...
    const float* weights = nullptr;   // [count]
    int count = 0;
    float* h = nullptr;  // [count][ff], or where down takes it rounded, in the same place:
    Int8Block* h_int8() const { return reinterpret_cast<Int8Block*>(h); }  // [count][ff / 32]
};

// Hands out consecutive pieces of a region.
class Arena {
  public:
    explicit Arena(std::byte* next) : next_(next) {}
    template <class T>
    T* take(int64_t count) {
        T* piece = reinterpret_cast<T*>(next_);
        next_ += bytes<T>(count);
        return piece;
    }
    template <class T>
    static int64_t bytes(int64_t count) {
        return (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    }

  private:
    std::byte* next_;
};

struct Choice {
    int32_t expert;
    float weight;
};

// The top_k largest logits, ties to the lower index, with their softmax; ordered by expert.
void choose_experts(const float* logits, int experts, int top_k, Choice* chosen) {
    int count = 0;
    for (int expert = 0; expert < experts; ++expert) {
        const float logit = logits[expert];
        if (count == top_k && !(logit > chosen[count - 1].weight)) continue;
        int at = count < top_k ? count++ : count - 1;
        for (; at > 0 && logit > chosen[at - 1].weight; --at) chosen[at] = chosen[at - 1];
        chosen[at] = {expert, logit};
    }
    const float largest = chosen[0].weight;
    float sum = 0;
    for (int j = 0; j < top_k; ++j) sum += chosen[j].weight = std::exp(chosen[j].weight - largest);
    for (int j = 0; j < top_k; ++j) chosen[j].weight /= sum;
    std::sort(chosen, chosen + top_k, [](const Choice& a, const Choice& b) { return a.expert < b.expert; });
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

}  // namespace

// One round's tokens, grouped. All arrays lie in the shared scratch.
struct CpuBackend::MoeRound {
    const Moe& op;
    int first_token;
    int tokens;
    Choice* chosen;         // [tokens][top_k]
    int32_t* expert_end;    // [experts]: where an expert's tokens end in the next two
    int32_t* group_tokens;  // [tokens * top_k], by expert, ascending in each
    float* group_weights;   // [tokens * top_k]
    float* shared_weights;  // [tokens]
    Group* groups;          // [experts + 1]: those with tokens, the shared one last
    float* h;               // [tokens * (top_k * expert ff + shared ff)]
    Int8Block* x_int8;      // [tokens][hidden / 32]
    int group_count = 0;

    static int64_t expert_ff(const Moe& op) { return op.experts.empty() ? 0 : op.experts[0].gate.rows; }
    static int64_t shared_ff(const Moe& op) { return op.shared == nullptr ? 0 : op.shared->gate.rows; }
    static int64_t h_floats(const Moe& op, int64_t tokens) {
        return tokens * (op.top_k * expert_ff(op) + shared_ff(op));
    }
    static int64_t x_blocks(const Moe& op, int64_t tokens) { return tokens * (op.hidden / kInt8Block); }
    static int64_t scratch_bytes(const Moe& op, int64_t tokens) {
        const auto experts = static_cast<int64_t>(op.experts.size());
        const int64_t pairs = tokens * op.top_k;
        return Arena::bytes<Choice>(pairs) + Arena::bytes<int32_t>(experts) + Arena::bytes<int32_t>(pairs) +
               Arena::bytes<float>(pairs) + Arena::bytes<float>(tokens) + Arena::bytes<Group>(experts + 1) +
               Arena::bytes<float>(h_floats(op, tokens)) + Arena::bytes<Int8Block>(x_blocks(op, tokens));
    }
};

bool CpuBackend::fits_panels(const Moe& op) const {
    const int64_t widest = std::max({int64_t{op.hidden}, MoeRound::expert_ff(op), MoeRound::shared_ff(op)});
    if (kMaxPanelRows * widest <= kPanelFloats) return true;
    const auto in_place = [&](const FfnMatrices& ffn) {
        return can_read_in_place(ffn.gate) && can_read_in_place(ffn.up) && can_read_in_place(ffn.down);
    };
    return std::all_of(op.experts.begin(), op.experts.end(), in_place) &&
           (op.shared == nullptr || in_place(*op.shared));
}

void CpuBackend::moe(const Moe& op) {
    const int top_k = op.experts.empty() ? 0 : op.top_k;
    Moe counted = op;
    counted.top_k = top_k;
    // No real model: one token's activations, or a row of weights, are larger than the scratch.
    if (MoeRound::scratch_bytes(counted, 1) > kSharedScratchBytes || !fits_panels(op)) return reference_->moe(op);
    int round = kMoeRoundTokens;
    while (round > 1 && MoeRound::scratch_bytes(counted, round) > kSharedScratchBytes) round /= 2;
    for (int first = 0; first < op.tokens; first += round) {
        moe_round(counted, first, std::min(round, op.tokens - first));
    }
}

void CpuBackend::moe_round(const Moe& op, int first_token, int tokens) {
    assert(MoeRound::scratch_bytes(op, tokens) <= kSharedScratchBytes);
    const auto experts = static_cast<int64_t>(op.experts.size());
    const int64_t pairs = static_cast<int64_t>(tokens) * op.top_k;
    Arena arena(shared_scratch());
    MoeRound round = {
        .op = op,
        .first_token = first_token,
        .tokens = tokens,
        .chosen = arena.take<Choice>(pairs),
        .expert_end = arena.take<int32_t>(experts),
        .group_tokens = arena.take<int32_t>(pairs),
        .group_weights = arena.take<float>(pairs),
        .shared_weights = arena.take<float>(tokens),
        .groups = arena.take<Group>(experts + 1),
        .h = arena.take<float>(MoeRound::h_floats(op, tokens)),
        .x_int8 = arena.take<Int8Block>(MoeRound::x_blocks(op, tokens)),
    };
    moe_route(round);
    moe_group(round);
    moe_round_x(round);
    moe_gate_up(round);
    moe_down(round);
}

void CpuBackend::moe_route(MoeRound& round) {
    const Moe& op = round.op;
    const auto experts = static_cast<int>(op.experts.size());
    for_each_row(round.tokens, experts + 1, [&](int64_t row) {
        const int64_t token = round.first_token + row;
        if (experts > 0) {
            choose_experts(op.router_logits + token * experts, experts, op.top_k, round.chosen + row * op.top_k);
        }
        round.shared_weights[row] = op.shared_gate == nullptr ? 1.0f : sigmoid(op.shared_gate[token]);
    });
}

void CpuBackend::moe_group(MoeRound& round) {
    const Moe& op = round.op;
    const auto experts = static_cast<int>(op.experts.size());
    const int pairs = round.tokens * op.top_k;
    std::fill_n(round.expert_end, experts, 0);
    for (int i = 0; i < pairs; ++i) ++round.expert_end[round.chosen[i].expert];

    float* h = round.h;
    int first = 0;
    for (int expert = 0; expert < experts; ++expert) {
        const int count = round.expert_end[expert];
        round.expert_end[expert] = first;  // moves on to the end below
        if (count > 0 && !op.experts[static_cast<size_t>(expert)].absent()) {
            round.groups[round.group_count++] = {&op.experts[static_cast<size_t>(expert)], round.group_tokens + first,
                                                 round.group_weights + first, count, h};
            h += count * MoeRound::expert_ff(op);
        }
        first += count;
    }
    for (int i = 0; i < pairs; ++i) {
        const int at = round.expert_end[round.chosen[i].expert]++;
        round.group_tokens[at] = i / op.top_k;
        round.group_weights[at] = round.chosen[i].weight;
    }
    if (op.shared != nullptr) {
        round.groups[round.group_count++] = {op.shared, nullptr, round.shared_weights, round.tokens, h};
    }
}

void CpuBackend::moe_round_x(const MoeRound& round) {
    const auto in_int8 = [&](const Group& group) { return takes_int8(group.ffn->gate) || takes_int8(group.ffn->up); };
    if (std::none_of(round.groups, round.groups + round.group_count, in_int8)) return;
    const Moe& op = round.op;
    quantise(op.x + static_cast<int64_t>(round.first_token) * op.hidden, round.tokens, op.hidden, round.x_int8);
}

// Rows of a task where few tokens meet weights that are read in place: many, because the kernels fetch those ahead
// from the second row group of a task on; but tasks enough for every thread. `total_rows` of all tasks; 0: no such
// case.
int CpuBackend::moe_stream_rows(const MoeRound& round, int64_t total_rows) const {
    static_assert(kMoeStreamTokens * kMaxStreamRows <= kMoeStepTokens * kMaxPanelRows);
    const auto in_place = [&](const Group& group) {
        const FfnMatrices& ffn = *group.ffn;
        return reads_in_place(ffn.gate, group.count) && reads_in_place(ffn.up, group.count) &&
               reads_in_place(ffn.down, group.count);
    };
    if (round.tokens > kMoeStreamTokens || !std::all_of(round.groups, round.groups + round.group_count, in_place))
        return 0;
    const int64_t share = total_rows / (4 * pool_.threads());
    return static_cast<int>(std::clamp<int64_t>(share / kMaxPanelRows * kMaxPanelRows, kMaxPanelRows, kMaxStreamRows));
}

void CpuBackend::moe_gate_up(const MoeRound& round) {
    const Moe& op = round.op;
    // Pieces of the shared group come first: they are the largest, and a large task at the end keeps others waiting.
    const bool has_shared = op.shared != nullptr;
    const int expert_groups = round.group_count - (has_shared ? 1 : 0);
    // A task that rounds its part of h has whole blocks of it.
    static_assert(kMaxPanelRows % kInt8Block == 0);
    const bool rounds_h = std::any_of(round.groups, round.groups + round.group_count,
                                      [&](const Group& group) { return takes_int8(group.ffn->down); });
    const int stream_rows = moe_stream_rows(round, expert_groups * MoeRound::expert_ff(op) + MoeRound::shared_ff(op));
    const auto panel_rows = [&](const FfnMatrices& ffn) {
        if (stream_rows > 0) return stream_rows;
        return rounds_h ? kMaxPanelRows : std::min(unpacked_panel_rows(ffn.gate), unpacked_panel_rows(ffn.up));
    };
    const int shared_rows = has_shared ? panel_rows(*op.shared) : 1;
    const int expert_rows = expert_groups > 0 ? panel_rows(op.experts[0]) : 1;
    const int shared_panels = static_cast<int>((MoeRound::shared_ff(op) + shared_rows - 1) / shared_rows);
    const int expert_panels = static_cast<int>((MoeRound::expert_ff(op) + expert_rows - 1) / expert_rows);
    const int64_t work = 2 * op.hidden * MoeRound::h_floats(op, round.tokens);

    struct Piece {
        const Group& group;
        int64_t first_row;
        int rows;
    };
    const auto piece_of = [&](int index) -> Piece {
        const bool shared = index < shared_panels;
        const int expert_index = index - shared_panels;
        const Group& group = round.groups[shared ? round.group_count - 1 : expert_index / expert_panels];
        const int max_rows = shared ? shared_rows : expert_rows;
        const int64_t first_row = static_cast<int64_t>(shared ? index : expert_index % expert_panels) * max_rows;
        return {group, first_row, static_cast<int>(std::min<int64_t>(max_rows, group.ffn->gate.rows - first_row))};
    };
    const int pieces = shared_panels + expert_groups * expert_panels;
    run(pieces, work, [&](int index, int worker) {
        const auto [group, first_row, rows] = piece_of(index);
        const int64_t ff = group.ffn->gate.rows;
        const int next_index = index + pool_.threads();

        const WorkerScratch scratch = worker_scratch(worker);
        const Panel gate = make_panel(group.ffn->gate, first_row, rows, group.count, scratch.panel);
        const Panel up = make_panel(group.ffn->up, first_row, rows, group.count, scratch.second_panel);
        for (int first = 0; first < group.count; first += kMoeStepTokens) {
            const int count = std::min(kMoeStepTokens, group.count - first);
            const int64_t first_x = group.tokens == nullptr ? first : 0;
            DotProducts products = {.x = op.x + (round.first_token + first_x) * op.hidden,
                                    .x_stride = op.hidden,
                                    .x_int8 = round.x_int8 + first_x * (op.hidden / kInt8Block),
                                    .x_rows = group.tokens == nullptr ? nullptr : group.tokens + first,
                                    .tokens = count,
                                    .y_stride = rows};
            products.y = scratch.results;
            expect_next(group.ffn->up, first_row, rows, products);
            dot(gate, products);
            products.y = scratch.results + count * rows;
            if (next_index < pieces) {
                const Piece next = piece_of(next_index);
                expect_next(next.group.ffn->gate, next.first_row, next.rows, products);
            }
            dot(up, products);
            if (takes_int8(group.ffn->down)) {
                isa_.silu_mul(scratch.results, products.y, count, rows, scratch.results, rows);
                Int8Block* h = group.h_int8() + (first * ff + first_row) / kInt8Block;
                for (int t = 0; t < count; ++t, h += ff / kInt8Block) {
                    int8_.quantise(scratch.results + t * rows, rows, h);
                }
            } else {
                isa_.silu_mul(scratch.results, products.y, count, rows, group.h + first * ff + first_row, ff);
            }
        }
    });
}

void CpuBackend::moe_down(const MoeRound& round) {
    const Moe& op = round.op;
    if (round.group_count == 0) return;
    const int stream_rows = moe_stream_rows(round, op.hidden);
    int max_rows = stream_rows > 0 ? stream_rows : kMaxPanelRows;
    for (int g = 0; stream_rows == 0 && g < round.group_count; ++g) {
        max_rows = std::min(max_rows, unpacked_panel_rows(round.groups[g].ffn->down));
    }
    const int panels = (op.hidden + max_rows - 1) / max_rows;

    run(panels, op.hidden * MoeRound::h_floats(op, round.tokens), [&](int index, int worker) {
        const int first_row = index * max_rows;
        const int rows = std::min(max_rows, op.hidden - first_row);
        const WorkerScratch scratch = worker_scratch(worker);
        std::fill_n(scratch.sums, static_cast<int64_t>(round.tokens) * rows, 0.0f);
        for (int g = 0; g < round.group_count; ++g) {
            const Group& group = round.groups[g];
            const Panel down = make_panel(group.ffn->down, first_row, rows, group.count, scratch.panel);
            for (int first = 0; first < group.count; first += kMoeStepTokens) {
                const int count = std::min(kMoeStepTokens, group.count - first);
                DotProducts products = {.x = group.h + first * down.cols,
                                        .x_stride = down.cols,
                                        .x_int8 = group.h_int8() + first * (down.cols / kInt8Block),
                                        .tokens = count,
                                        .y = scratch.results,
                                        .y_stride = rows};
                const bool last = g + 1 == round.group_count;
                const int next_row = last ? first_row + pool_.threads() * max_rows : first_row;
                if (next_row < op.hidden) {
                    const Matrix& next = round.groups[last ? 0 : g + 1].ffn->down;
                    expect_next(next, next_row, std::min(max_rows, op.hidden - next_row), products);
                }
                dot(down, products);
                const int32_t* to = group.tokens == nullptr ? nullptr : group.tokens + first;
                float* sums = group.tokens == nullptr ? scratch.sums + first * rows : scratch.sums;
                isa_.add_scaled_rows(scratch.results, group.weights + first, to, count, rows, sums, rows);
            }
        }
        isa_.add_rows(scratch.sums, round.tokens, rows,
                      op.y + static_cast<int64_t>(round.first_token) * op.hidden + first_row, op.hidden);
    });
}

}  // namespace octavo
