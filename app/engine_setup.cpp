#include "app/engine_setup.h"

#include "app/model_choice.h"

namespace octavo {

Result<EngineOptions> engine_options(const ModelOptions& model, const CacheOptions& cache) {
    const Result<DeviceChoice> device = parse_device(model.device);
    if (!device) return device.error();
    const Result<KvScheme> scheme = parse_kv_scheme(cache.kv);
    if (!scheme) return scheme.error();
    EngineOptions options;
    options.device = *device;
    options.threads = model.threads;
    options.session.scheme = *scheme;
    options.session.context_length = cache.context;
    return options;
}

Result<std::unique_ptr<Engine>> start_engine(const ModelOptions& model, const CacheOptions& cache) {
    const Result<EngineOptions> options = engine_options(model, cache);
    if (!options) return options.error();
    Result<std::shared_ptr<const Model>> opened = open_chosen_model(model.model);
    if (!opened) return opened.error();
    return Engine::create(std::move(*opened), *options);
}

}  // namespace octavo
