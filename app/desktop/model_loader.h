// Loads a model in steps that a person can watch and stop: read the file into the system's cache, open it, start an
// engine on it. Without the first step the first answer would read the file, and nobody could see how far it is.
//
// Threads: one, which waits for the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/desktop/engine_port.h"

namespace octavo {

class ModelLoader {
  public:
    using Report = std::function<void(ModelLoading)>;
    ModelLoader(const ModelRequest& request, Job& job, Report report)
        : request_(&request), job_(&job), report_(std::move(report)) {}

    // ErrorKind::input also for a model that cannot chat; cancelled.
    Result<std::shared_ptr<const Model>> open();
    struct Started {
        std::unique_ptr<Engine> engine;
        std::shared_ptr<const Model> model;  // with its channels scaled as asked for
        std::vector<std::string> notes;
    };
    Result<Started> start(std::shared_ptr<const Model> model);

  private:
    Status read_ahead();

    const ModelRequest* request_;
    Job* job_;
    Report report_;
};

}  // namespace octavo
