// All bytes of one layer's KV cache, for tests and their oracles. A value: copies share nothing.
#pragma once

#include <vector>

#include "kernels/kv_format.h"

namespace octavo::test {

struct KvShape {
    KvFormat k = KvFormat::f16;
    KvFormat v = KvFormat::f16;
    int kv_heads = 1;
    int head_dim = 64;
    int64_t cells = 0;
    int64_t sinks = 0;
    int64_t window = 0;
    int64_t window_from = 0;
    bool v_scale = false;  // 0.5, 0.75, 1, 1.25 by channel
};

class KvMemory {
  public:
    explicit KvMemory(const KvShape& shape) : shape_(shape), k_(shape, shape.k), v_(shape, shape.v) {
        for (int i = 0; shape.v_scale && i < shape.kv_heads * shape.head_dim; ++i) {
            v_scale_.push_back(0.5f + 0.25f * static_cast<float>(i % 4));
        }
    }

    KvView view() {
        KvView cache;
        cache.kv_heads = shape_.kv_heads;
        cache.head_dim = shape_.head_dim;
        cache.k = k_.view(shape_.k);
        cache.v = v_.view(shape_.v);
        cache.overlay = {shape_.sinks,    shape_.window,  shape_.window_from, k_.sinks.data(),
                         v_.sinks.data(), k_.ring.data(), v_.ring.data()};
        cache.v_scale = v_scale_.empty() ? nullptr : v_scale_.data();
        return cache;
    }

    bool operator==(const KvMemory& other) const { return k_ == other.k_ && v_ == other.v_; }

  private:
    struct Side {
        std::vector<std::byte> payload, scales;
        std::vector<f16_bits> open, sinks, ring;

        Side(const KvShape& shape, KvFormat format) {
            const int64_t rows = (shape.cells + kKvGroupCells - 1) / kKvGroupCells * kKvGroupCells * shape.kv_heads;
            const auto cells_of = [&](int64_t cells) {
                return std::vector<f16_bits>(static_cast<size_t>(cells * shape.kv_heads * shape.head_dim));
            };
            payload.resize(static_cast<size_t>(rows * kv_payload_bytes_per_row(format, shape.head_dim)));
            scales.resize(static_cast<size_t>(rows * kv_scale_bytes_per_row(format, shape.head_dim)));
            if (kv_format_spec(format).per_channel()) open = cells_of(kKvGroupCells);
            sinks = cells_of(shape.sinks);
            ring = cells_of(shape.window);
        }
        KvSide view(KvFormat format) {
            return {format, kv_format_spec(format).rotates, payload.data(), scales.empty() ? nullptr : scales.data(),
                    open.empty() ? nullptr : open.data()};
        }
        bool operator==(const Side&) const = default;
    };

    KvShape shape_;
    Side k_;
    Side v_;
    std::vector<float> v_scale_;
};

}  // namespace octavo::test
