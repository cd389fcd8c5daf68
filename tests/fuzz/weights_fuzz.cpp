// Any bytes as blocks of every weight type: the first byte picks the type, the others are codes and scales. Decoding
// may give any values, also none that are numbers; it may not read outside the blocks or the tables of values.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/matrix.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace octavo;
    if (size == 0) return 0;
    const WeightTypeSpec& spec = weight_types()[data[0] % weight_types().size()];
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    const auto block_bytes = static_cast<size_t>(spec.block_bytes + spec.scale_bytes);
    const size_t blocks = bytes.size() / block_bytes;
    if (blocks == 0) return 0;
    // Copies of the exact size, so that a step beyond them is seen; plain numbers have to be aligned.
    const auto codes = bytes.first(blocks * static_cast<size_t>(spec.block_bytes));
    const auto scales = bytes.subspan(codes.size(), blocks * static_cast<size_t>(spec.scale_bytes));
    const std::vector<std::byte> own_codes(codes.begin(), codes.end());
    const std::vector<std::byte> own_scales(scales.begin(), scales.end());
    const Matrix rows{spec.type, own_codes.data(), static_cast<int64_t>(blocks), spec.block_values,
                      1,         own_scales.data()};
    std::vector<float> values(blocks * static_cast<size_t>(spec.block_values));
    rows.decode_rows(0, rows.rows, values.data());
    return 0;
}
