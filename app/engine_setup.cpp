#include "app/engine_setup.h"

#include "app/kv_choices.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/user_folders.h"
#include "runtime/kv/calibration.h"

namespace octavo {

Result<KvSettings> cache_settings(const CacheOptions& cache) {
    const Result<KvScheme> scheme = parse_kv_scheme(cache.kv);
    if (!scheme) return scheme.error();
    const Result<KvRotation> rotation = parse_kv_rotation(cache.rotate);
    if (!rotation) return rotation.error();
    const Result<KvEncoder> encoder = parse_kv_encoder(cache.encoder);
    if (!encoder) return encoder.error();
    KvSettings settings = default_kv_settings_within(*scheme, cache.context);
    if (cache.window != CacheOptions::by_scheme) settings.window = cache.window;
    if (cache.sinks != CacheOptions::by_scheme) settings.sinks = cache.sinks;
    settings.rotation = *rotation;
    settings.encoder = *encoder;
    return settings;
}

Result<EngineOptions> engine_options(const ModelOptions& model, const CacheOptions& cache) {
    const Result<DeviceChoice> device = parse_device(model.device);
    if (!device) return device.error();
    const Result<KvSettings> settings = cache_settings(cache);
    if (!settings) return settings.error();
    const Result<KvEqualise> equalise = parse_kv_equalise(cache.equalise);
    if (!equalise) return equalise.error();
    EngineOptions options;
    options.device = *device;
    options.threads = model.threads;
    options.gpu_budget_bytes = model.gpu_budget_bytes;
    options.session.kv = *settings;
    options.session.equalise = *equalise;
    options.session.context_length = cache.context;
    return options;
}

Result<std::shared_ptr<const Model>> open_scaled_model(const ModelOptions& model, const CacheOptions& cache) {
    const Result<EngineOptions> options = engine_options(model, cache);
    if (!options) return options.error();
    Result<std::shared_ptr<const Model>> opened = open_chosen_model(model.model);
    const ChannelOptions channels{options->session.equalise, cache.outliers, user_cache_folder()};
    if (!opened || (channels.equalise == KvEqualise::off && channels.outlier_spread == 0)) return opened;
    const Result<std::unique_ptr<Backend>> backend = open_backend(*options);
    if (!backend) return backend.error();
    Job job;
    Result<PreparedModel> prepared = prepare_channels(std::move(*opened), channels, **backend, job);
    if (!prepared) return prepared.error();
    for (const std::string& note : prepared->notes) print_error(note);
    return std::move(prepared->model);
}

Result<std::unique_ptr<Engine>> start_engine(const ModelOptions& model, const CacheOptions& cache) {
    const Result<EngineOptions> options = engine_options(model, cache);
    if (!options) return options.error();
    Result<std::shared_ptr<const Model>> opened = open_scaled_model(model, cache);
    if (!opened) return opened.error();
    return Engine::create(std::move(*opened), *options);
}

}  // namespace octavo
