#include "runtime/measure/speed.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/measure/traffic.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kWarmUpTokens = 16;
const char* const kSessionName = "speed measurement";

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct Seconds {  // of every repeat
    std::vector<double> prefill;
    std::vector<double> decode;
};

class SpeedMeasurement {
  public:
    SpeedMeasurement(Session& session, const SpeedRequest& request, int vocab, Job& job)
        : session_(session), request_(request), vocab_(vocab), job_(job) {}

    Status run(std::span<const KvSettings> settings, std::span<Seconds> seconds) {
        session_.clear();
        if (Status status = change_kv(settings.front()); !status) return status;
        // The first passes fetch the weights from the file and wake the worker threads.
        if (Status status = read(kWarmUpTokens); !status) return status;
        session_.clear();
        if (Status status = read(request_.depth); !status) return status;
        if (Status status = session_.checkpoint_here(); !status) return status;
        for (int i = 0; i < request_.repeat; ++i) {
            for (size_t s = 0; s < settings.size(); ++s) {
                if (Status status = session_.restore(request_.depth); !status) return status;
                if (Status status = change_kv(settings[s]); !status) return status;
                if (Status status = time_read(seconds[s].prefill); !status) return status;
                if (Status status = time_decode(seconds[s].decode); !status) return status;
            }
        }
        return {};
    }

  private:
    int32_t next_id() { return static_cast<int32_t>(ids_.next() % static_cast<uint64_t>(vocab_)); }

    Status change_kv(const KvSettings& settings) {
        if (session_.cache().settings() == settings) return {};
        const KvChange change = session_.change_kv(settings, job_);
        return change.error ? Status(*change.error) : Status();
    }

    Status read(int64_t tokens) {
        if (tokens == 0) return {};
        std::vector<int32_t> ids(static_cast<size_t>(tokens));
        for (int32_t& id : ids) id = next_id();
        return session_.append(
            ids, 1, [](int64_t, int, const float*) {}, job_);
    }

    Status time_read(std::vector<double>& seconds) {
        if (request_.prefill_tokens == 0) return {};
        const auto start = Clock::now();
        if (Status status = read(request_.prefill_tokens); !status) return status;
        seconds.push_back(seconds_since(start));
        return session_.restore(request_.depth);
    }

    Status time_decode(std::vector<double>& seconds) {
        if (request_.decode_tokens == 0) return {};
        const auto start = Clock::now();
        for (int64_t i = 0; i < request_.decode_tokens; ++i) {
            if (job_.cancelled()) return Error{ErrorKind::cancelled, "The measurement was stopped."};
            if (Status status = session_.decode(next_id()); !status) return status;
        }
        seconds.push_back(seconds_since(start));
        return {};
    }

    Session& session_;
    const SpeedRequest& request_;
    int vocab_;
    Job& job_;
    RandomStream ids_{1};
};

SpeedReport report_of(const Seconds& seconds, const SpeedRequest& request, const Model& model,
                      int64_t kv_bytes_per_token) {
    SpeedReport report;
    if (!seconds.prefill.empty())
        report.prefill_tokens_per_s = static_cast<double>(request.prefill_tokens) / median(seconds.prefill);
    if (!seconds.decode.empty()) {
        report.decode_tokens_per_s = static_cast<double>(request.decode_tokens) / median(seconds.decode);
        report.bytes_per_token = decode_bytes(model, kv_bytes_per_token, request.depth + request.decode_tokens / 2);
        report.gb_per_s = report.decode_tokens_per_s * static_cast<double>(report.bytes_per_token) / 1e9;
    }
    return report;
}

}  // namespace

Result<std::vector<SpeedReport>> measure_speed(Engine& engine, const SpeedRequest& request,
                                               std::span<const KvSettings> settings, Job& job) {
    std::vector<Seconds> seconds(settings.size());
    const Model& model = engine.model();
    const Status status = engine.call(kSessionName, [&](Session& session) -> Status {
        return SpeedMeasurement(session, request, model.config.vocab, job).run(settings, seconds);
    });
    engine.close_session(kSessionName);
    if (!status) return status.error();

    std::vector<SpeedReport> reports;
    for (size_t s = 0; s < settings.size(); ++s) {
        const int64_t kv_bytes = kv_bytes_per_token(kv_shape(model.config), settings[s].scheme);
        reports.push_back(report_of(seconds[s], request, model, kv_bytes));
    }
    return reports;
}

}  // namespace octavo
