// A model's weights on a device that may be too small for its experts: those stay in ordinary memory, and as many
// layers of them as find room are copied to the device too. They hold that room only while nobody else wants it: a
// conversation that grows, or a cache in a larger format, gets it back layer by layer, and experts that were copied
// compute the same.
//
// Threads: the engine's, between passes; the numbers may be read from any thread.
// Non-goals: moving single experts as they are used.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/base/yielding_memory.h"
#include "models/hybrid/placed_weights.h"
#include "models/model.h"

namespace octavo {

class ExpertPlacement {
  public:
    explicit ExpertPlacement(const Model& model) : model_(model) {}
    ExpertPlacement(const ExpertPlacement&) = delete;
    ExpertPlacement& operator=(const ExpertPlacement&) = delete;

    // The weights, experts along with them or later. `backend` outlives what is placed.
    Status place(Backend& backend, ExpertsGo experts);
    const HybridWeights& weights() const { return placed_.weights; }
    int64_t weight_bytes() const { return static_cast<int64_t>(placed_.copy.bytes()); }

    // Of experts that were to go later, from here on. For a first pass that shall load kernels and not whole files, all
    // layers but one go without.
    enum class Among { one_layer, all_layers };
    void use_host_experts(Among layers);
    // Copies layers of experts to the device until `room` bytes are used up; the last of them in part.
    Status take_in(int64_t room, Memory& device);
    // Gives back at least `bytes`, or all there is.
    void give_back(int64_t bytes);
    Yielding yielding();

    int layers() const;                                            // with experts
    int whole_layers() const { return whole_layers_; }             // all of whose experts the device has
    int64_t device_expert_bytes() const { return device_bytes_; }  // that came later
    int64_t host_expert_bytes() const { return host_bytes_; }

  private:
    bool yields() const { return !placed_.expert_copies.empty(); }
    void count();

    const Model& model_;
    PlacedWeights placed_;
    bool taking_in_ = false;
    std::atomic<int> whole_layers_ = 0;
    std::atomic<int64_t> device_bytes_ = 0;
    std::atomic<int64_t> host_bytes_ = 0;
};

}  // namespace octavo
