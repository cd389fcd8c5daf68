// The Model tab: what is loaded, what else could be, on which device.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/desktop/model_finder.h"
#include "app/desktop/services.h"
#include "app/store/settings.h"
#include "ui/view_state.h"

namespace octavo {

class ModelController {
  public:
    ModelController(const Services& services, std::function<void()> changed, ModelFinder::OtherPlaces other_places);

    // What was remembered; nothing is loaded yet.
    void remember(const Settings& settings);
    const std::string& last_path() const { return last_path_; }

    // `path` empty: the bundled model.
    void load(const std::string& path);
    void load_with(KvEqualise equalise);  // the present file
    void cancel();
    void set_device(const std::string& id);
    void set_gpu_budget(int64_t bytes);  // counts from the next load on
    void apply_gpu_budget();             // loads the present file again
    void add_folder(const std::string& folder);
    void remove_folder(const std::string& folder);
    void rescan();

    const std::optional<ModelLoaded>& loaded() const { return loaded_; }
    const std::string& path() const { return path_; }
    bool loading() const { return loading_.has_value(); }

    void on(const ModelLoading& event);
    void on(const ModelLoaded& event);
    void on(const ModelFailed& event);

    void fill(ModelState& state) const;
    void fill(EngineState& state) const;
    void fill(GpuBudgetState& state) const;
    // One sentence: what this machine has and what fits.
    std::string machine_text() const;

  private:
    void start(const std::string& path, KvEqualise equalise);
    void save() const;

    Services services_;
    std::function<void()> changed_;
    std::optional<ModelLoaded> loaded_;
    std::string path_;       // of what is loaded
    std::string last_path_;  // that was asked for
    KvEqualise equalise_ = default_kv_equalise;
    std::optional<ModelState::Loading> loading_;
    std::string error_;
    std::string device_ = "auto";
    std::string cuda_problem_ = "The GPU is being looked for.";
    int64_t gpu_bytes_ = 0;  // free on the GPU when it was found
    int64_t gpu_budget_bytes_ = 0;
    int64_t loaded_budget_bytes_ = 0;  // of the last load
    ModelFinder finder_;
};

}  // namespace octavo
