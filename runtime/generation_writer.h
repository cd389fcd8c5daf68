// The engine's side of a Generation: reports phases, text and the end to whoever watches the handle.
//
// Threads: the engine's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/generation.h"

namespace octavo {

class GenerationWriter {
  public:
    explicit GenerationWriter(std::shared_ptr<Generation> generation) : generation_(std::move(generation)) {}

    Job& job() { return generation_->job_; }

    void start_prefill(int64_t prompt_tokens, int64_t reused_tokens);
    void start_decode();
    void emit(int32_t id);
    void emit_text(std::string_view text, std::string_view reasoning);
    void finish(Result<GenerationReport> report);

  private:
    std::shared_ptr<Generation> generation_;
};

}  // namespace octavo
