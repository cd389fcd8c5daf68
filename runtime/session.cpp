#include "runtime/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <utility>

namespace octavo {
namespace {

// Bound of the buffer for the logits of one pass; a vocabulary of 250,000 makes a row a megabyte.
constexpr int64_t logit_buffer_bytes = int64_t{64} << 20;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status check_context_length(int64_t tokens, const HybridConfig& config) {
    if (tokens >= 1 && tokens <= config.context_length) return {};
    return Error{ErrorKind::usage, fmt::format("A context of {} tokens was asked for; this model allows 1 to {}.",
                                               tokens, config.context_length)};
}

// Anchors inside (start, end], sorted, one a position (the most valuable kind).
std::vector<Anchor> useful_anchors(std::span<const Anchor> anchors, int64_t start, int64_t end) {
    std::vector<Anchor> useful;
    for (const Anchor& anchor : anchors) {
        if (anchor.position >= start && anchor.position <= end && anchor.position > 0) useful.push_back(anchor);
    }
    std::sort(useful.begin(), useful.end(), [](const Anchor& a, const Anchor& b) {
        return a.position != b.position ? a.position < b.position : a.kind > b.kind;
    });
    const auto same_position = [](const Anchor& a, const Anchor& b) { return a.position == b.position; };
    useful.erase(std::unique(useful.begin(), useful.end(), same_position), useful.end());
    return useful;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const HybridConfig& config, Forward& forward,
                                                 const SessionOptions& options) {
    SessionOptions checked = options;
    if (checked.context_length == 0) checked.context_length = config.context_length;
    if (Status status = check_context_length(checked.context_length, config); !status) return status.error();
    if (checked.prefill_chunk < 1 || checked.prefill_chunk > forward.max_tokens()) {
        return Error{ErrorKind::usage, fmt::format("A prefill chunk of {} tokens was asked for; 1 to {} are possible.",
                                                   checked.prefill_chunk, forward.max_tokens())};
    }
    if (checked.checkpoint_interval < 1) {
        return Error{ErrorKind::usage, "The checkpoint interval must be at least one token."};
    }
    Memory& memory = forward.backend().memory();
    const KvShape shape = kv_shape(config);
    if (Status status = check_kv_settings(checked.kv, shape, checked.context_length); !status) return status.error();
    Result<KvCache> cache = KvCache::create(shape, checked.kv, config.context_length, memory);
    if (!cache) return cache.error();
    Result<RecurrentState> recurrent = RecurrentState::create(config, memory);
    if (!recurrent) return recurrent.error();
    Result<Buffer> logits = Buffer::allocate(static_cast<size_t>(config.vocab) * sizeof(float), "logits");
    if (!logits) return logits.error();
    return std::unique_ptr<Session>(
        new Session(config, forward, checked, std::move(*cache), std::move(*recurrent), std::move(*logits)));
}

Session::Session(const HybridConfig& config, Forward& forward, const SessionOptions& options, KvCache cache,
                 RecurrentState recurrent, Buffer logits)
    : config_(&config),
      forward_(&forward),
      equalise_(options.equalise),
      context_length_(options.context_length),
      prefill_chunk_(options.prefill_chunk),
      checkpoint_interval_(options.checkpoint_interval),
      cache_(std::move(cache)),
      recurrent_(std::move(recurrent)),
      logits_(std::move(logits)),
      checkpoints_(options.checkpoint_budget_bytes) {
    views_.delta_net = recurrent_.layers();
    refresh_views();
}

void Session::refresh_views() {
    views_.attention.clear();
    for (int layer = 0; layer < cache_.shape().layers; ++layer) {
        views_.attention.push_back(cache_.view(layer));
        views_.attention.back().masked_first = masked_first_;
        views_.attention.back().masked_cells = masked_cells_;
    }
}

void Session::mask_cells(int64_t first, int64_t count) {
    masked_first_ = first;
    masked_cells_ = count;
    refresh_views();
}

Result<PrefillReport> Session::prefill(std::span<const int32_t> ids, std::span<const Anchor> anchors, Job& job) {
    const auto start = std::chrono::steady_clock::now();
    const auto total = static_cast<int64_t>(ids.size());
    if (ids.empty()) return Error{ErrorKind::usage, "The prompt is empty; there is nothing to answer."};
    if (Status status = check(ids, 0); !status) return status.error();
    if (Status status = cache_.commit(total); !status) return status.error();

    PrefillReport report;
    report.prompt_tokens = total;
    report.reused_tokens = reusable_prefix(ids);
    if (Status status = rewind(report.reused_tokens); !status) return status.error();
    cache_.shrink(total);
    job.report(position(), total);

    const std::vector<Anchor> stops = useful_anchors(anchors, position(), total);
    auto anchor = stops.begin();
    for (;;) {
        const bool anchored = anchor != stops.end() && anchor->position == position();
        if ((anchored || at_interval()) && checkpoints_.at(position()) == nullptr) {
            if (!checkpoint_here(anchored ? anchor->kind : CheckpointKind::interval)) ++report.checkpoints_refused;
        }
        if (anchored) ++anchor;
        if (position() == total) break;
        if (job.cancelled()) {
            report.cancelled = true;
            break;
        }
        const int64_t end = pass_end(anchor != stops.end() ? anchor->position : total);
        const std::span<const int32_t> pass = ids.subspan(position(), end - position());
        if (Status status = run_pass(pass, end == total ? 1 : 0, logits_.as<float>()); !status) return status.error();
        logits_valid_ = end == total;
        job.report(position(), total);
    }
    report.prefilled_tokens = position() - report.reused_tokens;
    report.seconds = seconds_since(start);
    return report;
}

Status Session::decode(int32_t id) {
    const std::span<const int32_t> ids(&id, 1);
    if (Status status = check(ids, position()); !status) return status;
    if (Status status = cache_.commit(position() + 1); !status) return status;
    if (Status status = run_pass(ids, 1, logits_.as<float>()); !status) return status;
    logits_valid_ = true;
    if (at_interval()) (void)checkpoint_here(CheckpointKind::interval);  // only makes going back slower
    return {};
}

Result<int32_t> Session::decode_and_sample(int32_t id, Sampler& sampler) {
    if (!forward_->samples()) {
        if (Status status = decode(id); !status) return status.error();
        return sampler.sample(logits(), tokens_);
    }
    if (Status status = check({&id, 1}, position()); !status) return status.error();
    if (Status status = cache_.commit(position() + 1); !status) return status.error();
    DrawInput input;
    sampler.fill(input, config_->vocab, tokens_, id);
    const Result<int32_t> next = forward_->run_and_sample(id, position(), views_, sampler.rule(), input);
    if (!next) {
        clear();  // as in run_pass
        return next.error();
    }
    tokens_.push_back(id);
    logits_valid_ = false;
    logits_on_device_ = true;
    if (at_interval() && fetch_logits()) (void)checkpoint_here(CheckpointKind::interval);
    return Sampler::checked(*next);
}

Status Session::fetch_logits() {
    if (!logits_on_device_) return {};
    logits_on_device_ = false;
    forward_->fetch_logits(logits_.as<float>());
    const Status status = forward_->backend().finish();
    logits_valid_ = static_cast<bool>(status);
    return status;
}

Status Session::append(std::span<const int32_t> ids, int64_t logit_rows, const LogitSink& sink, Job& job) {
    const auto vocab = static_cast<int64_t>(config_->vocab);
    const auto total = static_cast<int64_t>(ids.size());
    if (Status status = check(ids, position()); !status) return status;
    if (Status status = cache_.commit(position() + total); !status) return status;

    const int64_t first_row = position() + total - std::clamp<int64_t>(logit_rows, 0, total);
    const int64_t most_rows = std::clamp<int64_t>(logit_buffer_bytes / (vocab * 4), 1, prefill_chunk_);
    Result<Buffer> rows = Buffer::allocate(static_cast<size_t>(most_rows * vocab) * sizeof(float), "logits of a pass");
    if (!rows) return rows.error();

    const int64_t start = position();
    const int64_t stop = start + total;
    while (position() < stop) {
        if (job.cancelled()) return Error{ErrorKind::cancelled, "Cancelled."};
        const int64_t first = position();
        // A pass that hands out logits for some of its tokens hands them out for all: where they begin, a pass ends.
        const int64_t end = first < first_row ? pass_end(first_row) : std::min(pass_end(stop), first + most_rows);
        const int count = first < first_row ? 0 : static_cast<int>(end - first);
        const std::span<const int32_t> pass = ids.subspan(first - start, end - first);
        if (Status status = run_pass(pass, count, rows->as<float>()); !status) return status;
        logits_valid_ = count > 0;
        if (count > 0) {
            std::memcpy(logits_.data(), rows->as<float>() + (count - 1) * vocab, logits_.bytes());
            sink(first, count, rows->as<float>());
        }
        if (at_interval()) (void)checkpoint_here(CheckpointKind::interval);  // only makes going back slower
        job.report(position() - start, total);
    }
    return {};
}

std::span<const float> Session::logits() const {
    if (!logits_valid_) return {};
    return {logits_.as<const float>(), static_cast<size_t>(config_->vocab)};
}

Status Session::checkpoint_here(CheckpointKind kind) {
    const int64_t bytes = recurrent_.bytes() + cache_.copies_bytes(position()) +
                          (logits_valid_ ? static_cast<int64_t>(logits_.bytes()) : 0);
    if (!checkpoints_.has_room_for(bytes)) {
        return Error{ErrorKind::memory, fmt::format("A checkpoint needs {} bytes and the budget for them is {} bytes.",
                                                    bytes, checkpoints_.budget_bytes())};
    }
    Checkpoint checkpoint;
    checkpoint.position = position();
    checkpoint.kind = kind;
    checkpoint.kv_generation = cache_.generation();
    Result<Buffer> state =
        Buffer::allocate(static_cast<size_t>(recurrent_.bytes() + cache_.copies_bytes(position())), "a checkpoint");
    if (!state) return state.error();
    checkpoint.state = std::move(*state);
    recurrent_.save(checkpoint.state.data());
    cache_.save_copies(position(), checkpoint.state.data() + recurrent_.bytes());
    if (logits_valid_) {
        Result<Buffer> logits = Buffer::allocate(logits_.bytes(), "a checkpoint's logits");
        if (!logits) return logits.error();
        checkpoint.logits = std::move(*logits);
        std::memcpy(checkpoint.logits.data(), logits_.data(), logits_.bytes());
    }
    checkpoints_.add(std::move(checkpoint));
    return {};
}

Status Session::restore(int64_t position) {
    if (position != 0 && checkpoints_.at(position) == nullptr) {
        return Error{ErrorKind::usage, fmt::format("There is no checkpoint at token {} to go back to.", position)};
    }
    if (Status status = rewind(position); !status) return status;
    cache_.shrink(position);
    return {};
}

KvChange Session::change_kv(const KvSettings& settings, Job& job, KvChangeRoom room) {
    if (Status status = check_kv_settings(settings, cache_.shape(), context_length_); !status) {
        return {KvChangeOutcome::kept_old, status.error(), 0};
    }
    KvChange change = cache_.change(settings, position(), forward_->backend(), job, room);
    if (change.outcome == KvChangeOutcome::lost) clear();
    refresh_views();
    return change;
}

Result<PrefillReport> Session::rebuild(Job& job) {
    const std::vector<int32_t> ids = tokens_;
    if (ids.empty()) return PrefillReport{};
    Memory& memory = forward_->backend().memory();
    Result<KvCache> cache = KvCache::create(cache_.shape(), cache_.settings(), cache_.max_cells(), memory);
    if (!cache) return cache.error();
    Result<RecurrentState> recurrent = RecurrentState::create(*config_, memory);
    if (!recurrent) return recurrent.error();
    CheckpointStore checkpoints(checkpoints_.budget_bytes());
    std::vector<Anchor> anchors;
    for (const Checkpoint& checkpoint : checkpoints_.checkpoints())
        anchors.push_back({checkpoint.position, checkpoint.kind});

    const auto swap_state = [&] {
        std::swap(cache_, *cache);
        std::swap(recurrent_, *recurrent);
        std::swap(checkpoints_, checkpoints);
        views_.delta_net = recurrent_.layers();
        refresh_views();
    };
    swap_state();
    tokens_.clear();
    logits_valid_ = logits_on_device_ = false;
    Result<PrefillReport> report = prefill(ids, anchors, job);
    if (report && !report->cancelled) return report;

    swap_state();  // back to what was there, but for the logits: they are read again when they are wanted
    tokens_ = ids;
    logits_valid_ = logits_on_device_ = false;
    if (!report) return report.error();
    return Error{ErrorKind::cancelled, "Rebuilding the KV cache was cancelled; the cache is as it was."};
}

Status Session::set_context_length(int64_t tokens) {
    if (Status status = check_context_length(tokens, *config_); !status) return status;
    if (tokens < position()) {
        return Error{
            ErrorKind::usage,
            fmt::format("The conversation has {} tokens already; a context of {} is too short.", position(), tokens)};
    }
    if (const KvSettings& kv = cache_.settings(); tokens < std::max(kv.window, kv.sinks)) {
        return Error{ErrorKind::usage,
                     fmt::format("The KV cache keeps the newest {} and the first {} tokens in FP16 too (window and "
                                 "sinks); a context of {} is too short: make these smaller first.",
                                 kv.window, kv.sinks, tokens)};
    }
    context_length_ = tokens;
    return {};
}

Status Session::check(std::span<const int32_t> ids, int64_t first_position) const {
    const int64_t end = first_position + static_cast<int64_t>(ids.size());
    if (end > context_length_) {
        return Error{
            ErrorKind::context_full,
            fmt::format("{} tokens do not fit into the context of {}; {} are too many. Raise the context length "
                        "or shorten the text.",
                        end, context_length_, end - context_length_)};
    }
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= config_->vocab) {
            return Error{ErrorKind::usage,
                         fmt::format("Token {} at position {} is not in the vocabulary of {} tokens.", ids[i],
                                     first_position + static_cast<int64_t>(i), config_->vocab)};
        }
    }
    return {};
}

int64_t Session::reusable_prefix(std::span<const int32_t> ids) const {
    const auto total = static_cast<int64_t>(ids.size());
    const int64_t common = std::mismatch(ids.begin(), ids.end(), tokens_.begin(), tokens_.end()).first - ids.begin();
    // The logits after the last token are needed: where they are not at hand, that token is read again.
    if (common == position() && (common < total || logits_valid_)) return common;
    const Checkpoint* checkpoint = checkpoints_.nearest(common);
    if (checkpoint != nullptr && checkpoint->position == total && checkpoint->logits.bytes() == 0) {
        checkpoint = checkpoints_.nearest(total - 1);
    }
    return checkpoint != nullptr ? checkpoint->position : 0;
}

Status Session::rewind(int64_t position) {
    if (position == this->position()) return {};
    const Checkpoint* checkpoint = checkpoints_.at(position);
    assert(position == 0 || checkpoint != nullptr);
    logits_valid_ = logits_on_device_ = false;
    if (checkpoint != nullptr) {
        recurrent_.load(checkpoint->state.data());
        if (checkpoint->kv_generation == cache_.generation()) {
            cache_.load_copies(position, checkpoint->state.data() + recurrent_.bytes());
        } else if (Status status = cache_.rebuild_copies(position, this->position(), forward_->backend()); !status) {
            (void)rewind(0);
            return status;
        }
        if (checkpoint->logits.bytes() > 0) {
            std::memcpy(logits_.data(), checkpoint->logits.data(), logits_.bytes());
            logits_valid_ = true;
        }
    } else {
        recurrent_.clear();
        cache_.forget_copies();
    }
    refresh_views();
    tokens_.resize(static_cast<size_t>(position));
    checkpoints_.truncate(position);
    return {};
}

Status Session::run_pass(std::span<const int32_t> ids, int logit_rows, float* logits) {
    logits_on_device_ = false;
    if (Status status = forward_->run(ids, position(), views_, logit_rows, logits); !status) {
        clear();  // the state is undefined now; the next prompt starts from the beginning
        return status;
    }
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    return {};
}

int64_t Session::pass_end(int64_t stop) const {
    const int64_t next_interval = (position() / checkpoint_interval_ + 1) * checkpoint_interval_;
    return std::min({position() + prefill_chunk_, next_interval, stop});
}

}  // namespace octavo
