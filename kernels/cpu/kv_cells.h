// A cache's rows of one KV head, in the terms of the code of one instruction set.
#pragma once

#include "kernels/cpu/kv_kernels.h"
#include "kernels/kv_format.h"

namespace octavo {

// `fresh` are the rows from `fresh_cell` on, [T][kv_heads][head_dim]: rows of a pass whose copies are not kept yet.
SideCells k_cells(const KvView& cache, int kv_head, int64_t fresh_cell, const float* fresh);
SideCells v_cells(const KvView& cache, int kv_head, int64_t fresh_cell, const float* fresh);

}  // namespace octavo
