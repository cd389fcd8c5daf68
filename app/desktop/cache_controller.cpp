#include "app/desktop/cache_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/size_text.h"

namespace octavo {
namespace {

constexpr int64_t kLargestWindow = 8192;
// Beyond the prompt, so that a reply has room too.
constexpr int64_t kReplyRoom = 1024;

int64_t in_steps(int64_t tokens) {
    constexpr int64_t step = KvCache::cells_per_step;
    return (tokens + step - 1) / step * step;
}

// The cache is measured when a reply has ended; while one runs it grows by whole steps.
void grow_cache_line(KvState& state) {
    for (MemoryLineState& line : state.plan)
        if (line.kind == static_cast<int>(MemoryLineKind::kv_cache))
            line.measured_bytes = std::max(line.measured_bytes, in_steps(state.used_tokens) * state.bytes_per_token);
}

}  // namespace

CacheController::CacheController(Services services, ChatController& chat, ModelController& model,
                                 std::function<void()> changed)
    : services_(std::move(services)), chat_(chat), model_(model), changed_(std::move(changed)) {}

void CacheController::remember(const Settings& settings) {
    headroom_bytes_ = std::max<int64_t>(0, settings.integer("headroom_bytes").value_or(0));
}

bool CacheController::engine_holds_it() const { return measured_.count(chat_.session()) > 0; }

KvSituation CacheController::situation() const {
    KvSituation situation;
    situation.model = model_.loaded()->model.get();
    situation.info = model_.loaded()->info;
    situation.machine = services_.engine.machine_memory();
    situation.headroom_bytes = headroom_bytes_;
    const auto measured = measured_.find(chat_.session());
    if (measured != measured_.end()) {
        situation.now = measured->second;
    } else {
        situation.now.cache = chat_.settings().cache;
        situation.now.tokens = chat_.held_tokens();
    }
    return situation;
}

CacheWish CacheController::fitting(const KvSettings& kv) const {
    CacheWish wish{kv, fitting_context(situation(), kv)};
    wish.kv.window = std::min(wish.kv.window, wish.context_length);
    wish.kv.sinks = std::min(wish.kv.sinks, wish.context_length);
    return wish;
}

std::string CacheController::contexts_text() const {
    if (!model_.loaded()) return "";
    const KvSituation now = situation();
    const int64_t limit = now.model->config.context_length;
    const int64_t exact = fitting_context(now, now.info.kv);
    const std::string scheme = kv_scheme_name(now.info.kv.scheme);
    if (exact == limit)
        return fmt::format("The model's whole context of {} tokens fits in {}.", group_digits(limit), scheme);
    const KvSettings small = default_kv_settings({KvFormat::q4_0, KvFormat::q4_0});
    return fmt::format("Contexts of {} tokens fit in {} and {} in q4_0.", group_digits(exact), scheme,
                       group_digits(fitting_context(now, small)));
}

void CacheController::forget_measured() {
    measured_.clear();
    exact_from_.clear();
    changing_.reset();
    rebuilding_.reset();
    changed_();
}

void CacheController::price(const KvChoice& choice) {
    wanted_ = choice;
    error_.clear();
    changed_();
}

void CacheController::discard() {
    wanted_.reset();
    error_.clear();
    changed_();
}

void CacheController::set_headroom(int64_t bytes) {
    headroom_bytes_ = std::max<int64_t>(0, bytes);
    Settings settings;
    settings.set_integer("headroom_bytes", headroom_bytes_);
    services_.store.post([settings](Store& store) { return store.save_settings(settings); });
    changed_();
}

void CacheController::apply(const KvChoice& choice) {
    if (!model_.loaded() || changing_) return;
    const KvPrice price = price_choice(situation(), choice);
    if (!price.fits) {
        error_ = price.sentence;
        return changed_();
    }
    error_.clear();
    wanted_.reset();
    const CacheWish wish{choice.settings, choice.context_tokens};
    if (price.reloads) {
        chat_.set_cache(wish);
        model_.load_with(choice.equalise);
    } else if (engine_holds_it()) {
        changing_ = Work{chat_.session(), chat_.settings().cache, {}};
        services_.engine.change_cache(chat_.session(), wish);
    } else {
        chat_.set_cache(wish);
    }
    changed_();
}

void CacheController::rebuild() {
    if (!engine_holds_it() || rebuilding_) return;
    services_.notices.drop("cache");
    rebuilding_ = Work{chat_.session(), {}, {}};
    services_.engine.rebuild(chat_.session());
    changed_();
}

void CacheController::on(const CacheMeasured& event) {
    measured_[event.conversation] = event.state;
    changed_();
}

void CacheController::on(const CacheProgressed& event) {
    if (changing_ && changing_->conversation == event.conversation) changing_->progress = event.layers;
    changed_();
}

void CacheController::on(const CacheChanged& event) {
    if (!changing_) return;
    const CacheWish before = changing_->before;
    changing_.reset();
    const bool shown = event.conversation == chat_.session();
    if (event.change.error) {
        error_ = event.change.error->message;
        services_.notices.add(NoticeKind::error, error_, "cache");
    }
    if (event.change.outcome != KvChangeOutcome::kept_old) {
        exact_from_[event.conversation] =
            event.change.outcome == KvChangeOutcome::changed ? std::min(event.change.exact_from, event.tokens) : 0;
        if (shown) chat_.set_cache(event.wanted);
        announce(event, before);
    }
    changed_();
}

void CacheController::announce(const CacheChanged& event, const CacheWish& before) {
    if (event.change.outcome != KvChangeOutcome::changed || event.tokens == 0) return;
    std::string text;
    if (event.wanted.kv == before.kv) {
        text = fmt::format("The context holds {} tokens now.", group_digits(event.wanted.context_length));
        return services_.notices.add(NoticeKind::success, std::move(text), "cache");
    }
    text =
        fmt::format("The KV cache is {} now, without reading the text again.", describe_kv_settings(event.wanted.kv));
    std::vector<Notice::Button> buttons;
    if (event.change.exact_from > 0) {
        text += fmt::format(" It is exact from token {} on; older tokens keep their former error.",
                            group_digits(event.change.exact_from));
        buttons.push_back({"Rebuild exactly", action::RebuildKv{}});
    }
    services_.notices.add(NoticeKind::success, std::move(text), "cache", std::move(buttons));
}

void CacheController::on(const RebuildProgressed& event) {
    if (rebuilding_) rebuilding_->progress = event.tokens;
    changed_();
}

void CacheController::on(const RebuildEnded& event) {
    rebuilding_.reset();
    if (!event.report) {
        services_.notices.add(NoticeKind::error, event.report.error().message, "cache");
    } else {
        exact_from_[event.conversation] = 0;
        services_.notices.add(NoticeKind::success,
                              fmt::format("{} tokens were read again; every token is exact now.",
                                          group_digits(event.report->prefilled_tokens)),
                              "cache");
    }
    changed_();
}

void CacheController::offer_room(int64_t tokens) {
    if (!model_.loaded()) return;
    const KvSituation now = situation();
    const CacheWish& wish = chat_.settings().cache;
    const int64_t limit = now.model->config.context_length;
    const int64_t wanted = std::min(in_steps(tokens + kReplyRoom), limit);
    std::vector<Notice::Button> buttons;
    std::string text = fmt::format("{} tokens are wanted and the context holds {}.", group_digits(tokens),
                                   group_digits(wish.context_length));
    if (tokens < limit) {
        const KvChoice longer{wish.kv, now.info.equalise, wanted};
        const KvPrice price = price_choice(now, longer);
        if (price.fits) {
            buttons.push_back({fmt::format("Context {} ({})", group_digits(wanted), bytes_text(price.bytes_full)),
                               action::ApplyKv{longer}});
        }
        // The least change that makes room: the first of the smaller schemes, by size.
        std::vector<KvSchemeRow> rows = price_schemes(now);
        std::stable_sort(rows.begin(), rows.end(), [](const KvSchemeRow& a, const KvSchemeRow& b) {
            return a.bytes_per_token > b.bytes_per_token;
        });
        for (const KvSchemeRow& row : rows) {
            if (!row.unavailable.empty() ||
                row.bytes_per_token >= kv_bytes_per_token(kv_shape(now.model->config), wish.kv.scheme))
                continue;
            const KvChoice smaller{default_kv_settings(row.scheme), now.info.equalise, wanted};
            const KvPrice smaller_price = price_choice(now, smaller);
            if (!smaller_price.fits) continue;
            buttons.push_back({fmt::format("{} with context {} ({})", row.name, group_digits(wanted),
                                           bytes_text(smaller_price.bytes_full)),
                               action::ApplyKv{smaller}});
            break;
        }
    } else {
        text += fmt::format(" The model ends at {}.", group_digits(limit));
    }
    if (!chat_.empty()) buttons.push_back({"Leave out the oldest turns", action::DropOldestTurns{kReplyRoom}});
    services_.notices.add(NoticeKind::warning, std::move(text), "room", std::move(buttons));
}

void CacheController::fill(KvState& state) const {
    state = {};
    state.headroom_bytes = headroom_bytes_;
    if (!model_.loaded()) return;
    const KvSituation now = situation();
    const HybridConfig& config = now.model->config;
    state.available = true;
    state.rows = price_schemes(now);
    state.applied = {now.now.cache.kv, now.info.equalise, now.now.cache.context_length};
    state.bytes_per_token = kv_bytes_per_token(kv_shape(config), state.applied.settings.scheme);
    // What the engine holds: less than the conversation has, where it comes from the store and was not read yet.
    const int64_t running = chat_.running_tokens();
    state.used_tokens = running > 0 ? running : engine_holds_it() ? now.now.tokens : 0;
    state.context_limit = config.context_length;
    state.window_limit = std::min<int64_t>(kLargestWindow, config.context_length);
    if (wanted_) state.price = price_choice(now, *wanted_);
    state.changing = changing_.has_value();
    if (changing_) {
        state.changed_layers = changing_->progress.done;
        state.total_layers = changing_->progress.total;
    }
    const auto exact = exact_from_.find(chat_.session());
    if (exact != exact_from_.end()) state.exact_from = exact->second;
    state.error = error_;
    state.plan = memory_lines(now);
    if (running > 0) grow_cache_line(state);
    state.memory_name = "memory";
    state.memory_total_bytes = static_cast<int64_t>(now.machine.total);
    state.memory_free_bytes = static_cast<int64_t>(now.machine.available);
    state.other_bytes = std::max<int64_t>(
        0, state.memory_total_bytes - state.memory_free_bytes -
               static_cast<int64_t>(now.machine.own - std::min(now.machine.own, now.machine.own_files)));
    if (now.info.memory.place != "gpu") return;
    state.memory_name = "GPU memory";  // what the engine may have of it
    state.memory_total_bytes = static_cast<int64_t>(now.info.free_bytes);
    state.memory_free_bytes = state.memory_total_bytes - now.now.other_conversations_bytes;
    for (const MemoryLine& line : now.now.memory) {
        if (line.where == "gpu") state.memory_free_bytes -= line.committed_bytes;
    }
    state.other_bytes = 0;
}

void CacheController::fill(EngineState& state) const {
    if (model_.loaded()) state.scheme = describe_kv_settings(chat_.settings().cache.kv);
    const std::optional<Work>& work = rebuilding_ ? rebuilding_ : changing_;
    if (!work) return;
    state.phase = rebuilding_ ? EnginePhase::prefilling : EnginePhase::converting;
    state.done = work->progress.done;
    state.total = work->progress.total;
}

}  // namespace octavo
