// Runs work that takes a while: progress on standard error where that is a terminal, and Ctrl-C or a
// signal that would end the program cancels it, so that unfinished files are removed.
//
// Threads: called on the main thread; the work runs on a thread of its own.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

#include "kernels/base/job.h"

namespace octavo {

// Returns when `work` has. An exception of it comes out here.
void run_watched(std::string_view what, Job& job, const std::function<void()>& work);

// `what` is the word before the progress: "fidelity". `work` takes the Job and returns a Result or a Status.
template <class Work>
std::invoke_result_t<Work, Job&> run_long(std::string_view what, Work&& work) {
    Job job;
    std::optional<std::invoke_result_t<Work, Job&>> outcome;
    run_watched(what, job, [&] { outcome.emplace(work(job)); });
    return std::move(*outcome);
}

}  // namespace octavo
