// The Recall tab: runs the check on the present settings beside the chat, shows what came of it, keeps every run.
//
// Threads: the interface's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/desktop/chat_controller.h"
#include "app/desktop/model_controller.h"
#include "app/desktop/services.h"
#include "ui/actions.h"

namespace octavo {

class RecallController {
  public:
    RecallController(const Services& services, const ChatController& chat, const ModelController& model,
                     std::function<void()> changed);

    void start(const action::StartRecall& wanted);
    void stop();
    void open(int64_t run);
    void remove(int64_t run);
    // The name to propose.
    std::string begin_export(const action::ExportRecallRun& wanted);
    // then(text of the file).
    void export_text(std::function<void(std::string)> then);

    bool running() const { return running_; }
    void on(const RecallProgressed& event);
    void on(const RecallEnded& event);

    void fill(RecallState& state) const;
    void fill(EngineState& state) const;

  private:
    void refresh();
    void keep(const RecallReport& report);
    void show(const RecallReport& report, bool complete, int64_t id, int64_t created_ms);
    double seconds_left() const;

    Services services_;
    const ChatController& chat_;
    const ModelController& model_;
    std::function<void()> changed_;
    bool running_ = false;
    bool stopping_ = false;
    int64_t started_ms_ = 0;
    Job::Progress progress_;
    std::shared_ptr<const RecallRunView> shown_;
    std::vector<RecallHistoryItem> history_;
    std::string error_;
    action::ExportRecallRun export_;
};

}  // namespace octavo
