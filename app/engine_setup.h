// From options to a running engine.
#pragma once

#include <memory>

#include "app/options.h"
#include "runtime/engine.h"

namespace octavo {

// Scheme, window, sinks, rotation and encoder as asked for; defaults by scheme.
Result<KvSettings> cache_settings(const CacheOptions& cache);
Result<EngineOptions> engine_options(const ModelOptions& model, const CacheOptions& cache);

// Opens the model and scales the channels of its keys and values as asked for. Measures them where it must, which takes
// a while once per model, and says so on standard error.
Result<std::shared_ptr<const Model>> open_scaled_model(const ModelOptions& model, const CacheOptions& cache);

// Opens the model and starts an engine for it.
Result<std::unique_ptr<Engine>> start_engine(const ModelOptions& model, const CacheOptions& cache);

}  // namespace octavo
