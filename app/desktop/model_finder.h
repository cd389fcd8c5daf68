// The models that the Model tab lists: searched in the folders of the person and of other programs, on a thread of its
// own; the last used first.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/desktop/services.h"
#include "app/desktop/task_thread.h"
#include "app/library/library.h"
#include "app/store/settings.h"
#include "ui/state/model_state.h"

namespace octavo {

class ModelFinder {
  public:
    using OtherPlaces = std::function<std::vector<ModelPlace>()>;
    // `other_places`: of other programs; called on the thread that searches. nullptr: none.
    ModelFinder(const Services& services, std::function<void()> changed, OtherPlaces other_places);
    ~ModelFinder();
    ModelFinder(const ModelFinder&) = delete;
    ModelFinder& operator=(const ModelFinder&) = delete;

    // What was remembered; starts a search.
    void remember(const Settings& settings);
    void save_to(Settings& settings) const;

    void add_folder(const std::string& folder);
    void remove_folder(const std::string& folder);
    void search();
    // A model was loaded; empty, the bundled one, is not listed.
    void used(const std::string& path);

    void fill(ModelState& state) const;

  private:
    struct Found {
        ModelLibrary library;
        std::vector<LibraryModel> elsewhere;  // recent models outside of all places
    };
    static Found find(const std::vector<std::string>& folders, const OtherPlaces& other_places,
                      const std::vector<std::string>& recent, const Job& job);
    void take(Found found);
    void list();

    Services services_;
    std::function<void()> changed_;
    OtherPlaces other_places_;
    std::vector<std::string> folders_;
    std::vector<std::string> recent_;  // paths, the last used first
    Found found_;
    std::shared_ptr<Job> job_;  // of the search that goes on; nullptr: none
    std::shared_ptr<const ModelList> list_ = std::make_shared<const ModelList>();
    TaskThread thread_;  // last: its tasks end before the rest goes
};

}  // namespace octavo
