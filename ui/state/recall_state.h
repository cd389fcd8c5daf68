// The Recall panel: does the model find facts in a long text under the present settings, and what does the KV cache's
// format cost it?
//
// Threads: values. Runs are shared and never change once handed over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace octavo {

// One question, for whoever clicks the square that it belongs to.
struct RecallAnswerView {
    int64_t first_token = 0;  // of the planted sentence, from the start of the prompt
    int64_t end_token = 0;
    std::string task;      // "word codes"
    std::string zone;      // "bulk", "window": where its tokens are read from
    std::string question;  // as asked
    std::string expected;
    std::string answer;
    std::string outcome;  // "correct", "wrong", "empty"
    bool correct = false;
};

// A square of the heat map.
struct RecallCellView {
    int64_t length_tokens = 0;
    int depth_percent = 0;  // 0: start of the text, 100: its end
    int64_t n = 0;
    int64_t correct = 0;
    double wilson_low = 0;  // 95% interval of the share of correct answers
    double wilson_high = 1;
    std::vector<RecallAnswerView> answers;
};

struct RecallSchemeView {
    std::string name;  // "q4_0, window 128, sinks 64"
    bool reference = false;
    int64_t n = 0;
    int64_t correct = 0;
    double wilson_low = 0;
    double wilson_high = 1;
    int64_t wrong = 0;
    int64_t empty = 0;
    std::vector<RecallCellView> cells;
    std::vector<std::string> details;  // sentences: fidelity, speed, bytes, controls
};

struct RecallRunView {
    int64_t id = 0;  // 0: not stored (it runs)
    std::string model;
    std::string time_text;  // "14:02"
    bool complete = true;   // false: stopped, or still running; what there is, is here
    std::vector<RecallSchemeView> schemes;
    std::vector<std::string> differences;  // to the reference, in sentences
    std::vector<std::string> notes;
};

struct RecallHistoryItem {
    int64_t id = 0;
    std::string text;       // "Pocket, q4_0, 4K to 16K"
    std::string time_text;  // "14:02"
};

struct RecallState {
    bool available = false;
    std::string unavailable;       // why
    std::string settings;          // what would be tested: "q4_0, window 128, sinks 64"
    std::vector<int64_t> lengths;  // to choose from, tokens; those that fit the context
    std::string warning;           // about the settings, before anything is run
    bool running = false;
    bool stopping = false;
    int64_t done = 0;
    int64_t total = 0;
    double seconds_left = -1;                    // -1: not known
    std::shared_ptr<const RecallRunView> shown;  // what runs, ran last, or was opened
    std::vector<RecallHistoryItem> history;      // newest first
    std::string error;
};

}  // namespace octavo
