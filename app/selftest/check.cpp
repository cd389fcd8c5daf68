#include "app/selftest/check.h"

#include "app/model_choice.h"

namespace octavo {

EngineOptions CheckContext::engine_options() const {
    EngineOptions options;
    options.device = device_;
    options.threads = threads_;
    return options;
}

Result<std::shared_ptr<const Model>> CheckContext::model() {
    if (model_) return model_;
    Result<std::shared_ptr<const Model>> opened = open_chosen_model("");
    if (opened) model_ = *opened;
    return opened;
}

Result<Engine*> CheckContext::engine() {
    if (engine_) return engine_.get();
    const Result<std::shared_ptr<const Model>> opened = model();
    if (!opened) return opened.error();
    Result<std::unique_ptr<Engine>> started = Engine::create(*opened, engine_options());
    if (!started) return started.error();
    engine_ = std::move(*started);
    return engine_.get();
}

}  // namespace octavo
