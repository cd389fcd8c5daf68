// Products of weight matrices with tokens. All targets of a call share one parallel region: their rows are cut into
// panels, a task computes one panel for all tokens (or some of them, when there are few panels for many threads).
#include <limits>
#include <vector>

#include "kernels/cpu/cpu_backend.h"

namespace octavo {

namespace {

constexpr int kRowGroup = 4;       // rows that the float32 kernels take together
constexpr int kInt8RowGroup = 32;  // a multiple of what the int8 kernels take together
// Weights that one task reads in place. Kernels fetch them ahead themselves, from the second row group of a task on;
// but there are to be tasks enough for every thread.
constexpr int64_t kLeastTaskBytes = 16 << 10;
constexpr int64_t kMostTaskBytes = 256 << 10;
constexpr int kTasksPerThread = 4;
constexpr int kMinTokensPerPart = 48;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

CpuBackend::Panel CpuBackend::make_panel(const Matrix& w, int64_t first_row, int rows, int tokens,
                                         float* scratch) const {
    Panel panel = {.type = w.type,
                   .w = w.row(first_row),
                   .row_bytes = w.row_bytes(),
                   .block_scales = w.scale_row(first_row),
                   .scale_row_bytes = w.scale_row_bytes(),
                   .sharing_before = static_cast<int>(first_row % weight_type_spec(w.type).scale_rows),
                   .rows = rows,
                   .cols = w.cols,
                   .scale = w.scale};
    if (w.type == WeightType::f32 || reads_in_place(w, tokens) || rows * w.cols > kPanelFloats) return panel;
    unpack(w, first_row, rows, scratch);
    panel.type = WeightType::f32;
    panel.w = reinterpret_cast<const std::byte*>(scratch);
    panel.row_bytes = w.cols * static_cast<int64_t>(sizeof(float));
    return panel;
}

void CpuBackend::unpack(const Matrix& w, int64_t first_row, int64_t rows, float* values) const {
    if (!has_kernels(w.type)) return w.decode_rows(first_row, rows, values);
    const auto unpack = isa_.unpack[static_cast<int>(w.type)];
    if (weight_type_spec(w.type).scale_bytes == 0) return unpack(w.row(first_row), nullptr, rows * w.cols, values);
    for (int64_t row = first_row; row < first_row + rows; ++row, values += w.cols)
        unpack(w.row(row), w.scale_row(row), w.cols, values);
}

void CpuBackend::dot(const Panel& panel, DotProducts op) const {
    op.w = panel.w;
    op.row_bytes = panel.row_bytes;
    op.block_scales = panel.block_scales;
    op.scale_row_bytes = panel.scale_row_bytes;
    op.sharing_before = panel.sharing_before;
    op.rows = panel.rows;
    op.cols = panel.cols;
    op.scale = panel.scale;
    const auto type = static_cast<int>(panel.type);
    (takes_int8(panel.type, panel.cols) ? int8_.dot[type] : isa_.dot[type])(op);
}

void CpuBackend::expect_next(const Matrix& w, int64_t first_row, int rows, DotProducts& op) {
    op.next_w = w.row(first_row);
    op.next_bytes = rows * w.row_bytes();
}

int CpuBackend::unpacked_panel_rows(const Matrix& w) const {
    const int64_t fitting = kPanelFloats / w.cols;
    if (fitting >= kRowGroup)
        return static_cast<int>(std::min<int64_t>(fitting / kRowGroup * kRowGroup, kMaxPanelRows));
    return can_read_in_place(w) ? kRowGroup : static_cast<int>(fitting);
}

int CpuBackend::matmul_panel_rows(const Matrix& w, int tokens) const {
    if (!reads_in_place(w, tokens)) return unpacked_panel_rows(w);
    const int group = takes_int8(w) ? kInt8RowGroup : kRowGroup;
    const int64_t share = w.bytes() / (kTasksPerThread * pool_.threads());
    const int64_t bytes = std::clamp(share, kLeastTaskBytes, kMostTaskBytes);
    const int64_t rows = round_up(bytes / w.row_bytes(), group);
    return static_cast<int>(std::clamp<int64_t>(rows, group, std::numeric_limits<int>::max()));
}

void CpuBackend::quantise(const float* x, int tokens, int64_t cols, Int8Block* blocks) {
    for_each_row(tokens, cols,
                 [&](int64_t t) { int8_.quantise(x + t * cols, cols, blocks + t * (cols / kInt8Block)); });
}

void CpuBackend::matmul(const float* x, int tokens, std::span<const MatmulTarget> targets) {
    const auto in_int8 = [&](const MatmulTarget& target) { return takes_int8(target.w); };
    if (std::none_of(targets.begin(), targets.end(), in_int8)) return matmul(x, nullptr, tokens, targets);
    const int64_t cols = targets[0].w.cols;
    auto* blocks = reinterpret_cast<Int8Block*>(shared_scratch());
    const int64_t fitting = kSharedScratchBytes / (cols / kInt8Block * static_cast<int64_t>(sizeof(Int8Block)));
    if (fitting == 0) return reference_->matmul(x, tokens, targets);  // no real model has such rows
    for (int64_t first = 0; first < tokens; first += fitting) {
        const int count = static_cast<int>(std::min<int64_t>(fitting, tokens - first));
        std::vector<MatmulTarget> part(targets.begin(), targets.end());
        for (MatmulTarget& target : part) target.y += first * target.y_stride;
        quantise(x + first * cols, count, cols, blocks);
        matmul(x + first * cols, blocks, count, part);
    }
}

void CpuBackend::matmul(const float* x, const Int8Block* x_int8, int tokens, std::span<const MatmulTarget> targets) {
    if (tokens == 0) return;
    const auto wide = [&](const MatmulTarget& target) { return !fits_panel(target.w); };
    if (std::any_of(targets.begin(), targets.end(), wide)) return reference_->matmul(x, tokens, targets);
    int panels = 0;
    int64_t weights = 0;
    for (const MatmulTarget& target : targets) {
        const int rows = matmul_panel_rows(target.w, tokens);
        panels += static_cast<int>((target.w.rows + rows - 1) / rows);
        weights += target.w.rows * target.w.cols;
    }
    // Tasks enough that no thread waits long for the last one, but tokens enough in each to pay for the unpacking.
    const int wanted_parts = (4 * pool_.threads() + panels - 1) / std::max(1, panels);
    const int parts = std::clamp(tokens / kMinTokensPerPart, 1, wanted_parts);
    const int part_tokens = (tokens + parts - 1) / parts;

    struct Piece {
        const MatmulTarget* target = nullptr;  // nullptr: there is none
        int64_t first_row = 0;
        int rows = 0;
    };
    const auto piece_of = [&](int index) -> Piece {
        for (const MatmulTarget& target : targets) {
            const int max_rows = matmul_panel_rows(target.w, tokens);
            const int count = static_cast<int>((target.w.rows + max_rows - 1) / max_rows);
            const int64_t first_row = static_cast<int64_t>(index) * max_rows;
            if (index < count)
                return {&target, first_row, static_cast<int>(std::min<int64_t>(max_rows, target.w.rows - first_row))};
            index -= count;
        }
        return {};
    };
    run(panels * parts, weights * tokens, [&](int index, int worker) {
        const Piece piece = piece_of(index / parts);
        const Piece next = piece_of((index + pool_.threads()) / parts);
        const MatmulTarget& target = *piece.target;
        const int first_token = std::min(tokens, index % parts * part_tokens);
        const int count_tokens = std::min(part_tokens, tokens - first_token);
        const Panel panel =
            make_panel(target.w, piece.first_row, piece.rows, count_tokens, worker_scratch(worker).panel);
        DotProducts products = {
            .x = x + first_token * target.w.cols,
            .x_stride = target.w.cols,
            .x_int8 = x_int8 == nullptr ? nullptr : x_int8 + first_token * (target.w.cols / kInt8Block),
            .tokens = count_tokens,
            .y = target.y + first_token * target.y_stride + piece.first_row,
            .y_stride = target.y_stride,
            .accumulate = target.accumulate};
        if (next.target != nullptr) expect_next(next.target->w, next.first_row, next.rows, products);
        dot(panel, products);
    });
}

}  // namespace octavo
