// The Recall panel: does the model find facts in a long text under the present settings?
//
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octavo {

struct RecallCellView {
    int64_t length_tokens = 0;
    double depth = 0;  // 0: start of the text, 1: its end
    int n = 0;         // questions answered so far
    int correct = 0;
    double wilson_low = 0;  // 95% interval of the share of correct answers
    double wilson_high = 1;
};

struct RecallRunView {
    int64_t id = 0;
    std::string settings = {};   // "Pocket, q4_0, window 128, sinks 64"
    std::string time_text = {};  // "14:02"
    std::string zone = {};       // "safe", "careful", "broken"; empty: not judged
    int n = 0;
    int correct = 0;
    double seconds = 0;
    std::vector<RecallCellView> cells = {};
};

struct RecallState {
    bool available = false;
    std::string unavailable = {};       // why
    std::vector<int64_t> lengths = {};  // to choose from, tokens
    std::string estimate = {};          // "about 2 minutes"
    bool running = false;
    bool stopping = false;
    int64_t done = 0;
    int64_t total = 0;
    double seconds_left = -1;
    std::optional<RecallRunView> current = {};    // what runs, or ran last
    std::optional<RecallRunView> reference = {};  // the same questions with f16
    std::vector<std::string> differences = {};
    std::vector<RecallRunView> history = {};
    std::string warning = {};
    std::string error = {};
};

}  // namespace octavo
