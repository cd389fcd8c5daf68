#include "app/desktop/kv_pricing.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/size_text.h"
#include "runtime/kv/scheme_quality.h"

namespace octavo {
namespace {

// The conversion's own buffers are small beside this and the cache's steps.
constexpr int64_t kStep = KvCache::cells_per_step;

KvErrorClass error_class(const KvScheme& scheme) {
    const KvSchemeQuality* quality = find_kv_scheme_quality(scheme);
    if (quality == nullptr) return KvErrorClass::unknown;
    if (quality->mean_kl < 1e-5) return KvErrorClass::exact;
    if (quality->mean_kl < 1e-4) return KvErrorClass::very_low;
    if (quality->mean_kl < 1e-3) return KvErrorClass::low;
    if (quality->mean_kl < 1e-2) return KvErrorClass::medium;
    return KvErrorClass::high;
}

bool is_cache_line(MemoryLineKind kind) {
    return kind == MemoryLineKind::kv_cache || kind == MemoryLineKind::kv_copies;
}

int64_t committed(const std::vector<MemoryLine>& lines, bool (*wanted)(MemoryLineKind)) {
    int64_t bytes = 0;
    for (const MemoryLine& line : lines)
        if (wanted(line.kind)) bytes += line.committed_bytes;
    return bytes;
}

std::vector<MemoryLine> plan(const KvSituation& situation, const KvSettings& settings, int64_t tokens) {
    SessionOptions options;
    options.kv = settings;
    options.checkpoint_budget_bytes = situation.checkpoint_budget_bytes;
    return planned_memory(*situation.model, options, tokens, situation.info.memory);
}

int64_t cache_bytes(const KvSituation& situation, const KvSettings& settings, int64_t tokens) {
    return committed(plan(situation, settings, tokens), is_cache_line);
}

// Checkpoints are left out: they are thinned for lack of memory.
int64_t needed_bytes(const KvSituation& situation, const KvSettings& settings, int64_t tokens) {
    std::vector<MemoryLine> lines = plan(situation, settings, tokens);
    std::erase_if(lines, [](const MemoryLine& line) { return line.kind == MemoryLineKind::checkpoints; });
    return committed_bytes_at(situation.info.memory.place, lines);
}

bool on_gpu(const KvSituation& situation) { return situation.info.memory.place == "gpu"; }

std::string refusal(const KvSituation& situation, const KvChoice& choice, int64_t needed, int64_t budget) {
    return fmt::format(
        "A context of {} tokens in {} needs {}, of which {} are the KV cache; {} are free for it{}. Take a shorter "
        "context or a smaller scheme, or close other programs.",
        group_digits(choice.context_tokens), kv_scheme_name(choice.settings.scheme), bytes_text(needed),
        bytes_text(cache_bytes(situation, choice.settings, choice.context_tokens)),
        bytes_text(std::max<int64_t>(budget, 0)),
        situation.headroom_bytes > 0 && !on_gpu(situation)
            ? fmt::format(", with {} left to other programs", bytes_text(situation.headroom_bytes))
            : "");
}

// What happens on Apply beside the figures, in a sentence; empty where they say it all.
std::string consequence(const KvSituation& situation, const KvPrice& price) {
    const KvSettings& now = situation.now.cache.kv;
    const KvSettings& wanted = price.choice.settings;
    if (price.reloads) return "The model is prepared again and the conversation read again.";
    if (situation.now.tokens == 0) return "";
    if (wanted.scheme != now.scheme || wanted.rotates_k() != now.rotates_k() || wanted.rotates_v() != now.rotates_v())
        return fmt::format("{} tokens are converted in place, without reading the text again.",
                           group_digits(situation.now.tokens));
    return wanted.window > now.window ? "The wider window holds exactly what comes from now on." : "";
}

}  // namespace

int64_t memory_budget(const KvSituation& situation) {
    if (on_gpu(situation)) {
        return static_cast<int64_t>(situation.info.free_bytes) - situation.now.other_conversations_bytes;
    }
    const int64_t held =
        committed(situation.now.memory, [](MemoryLineKind kind) { return kind != MemoryLineKind::weights; });
    return static_cast<int64_t>(situation.machine.available) + held - situation.headroom_bytes;
}

std::vector<KvSchemeRow> price_schemes(const KvSituation& situation) {
    const KvShape shape = kv_shape(situation.model->config);
    const int64_t budget = memory_budget(situation);
    std::vector<KvSchemeRow> rows;
    for (const KvSchemeSpec& spec : kv_schemes()) {
        if (!spec.in_menu) continue;
        KvSchemeRow row;
        row.scheme = {spec.k, spec.v};
        row.name = spec.name;
        row.text = spec.text;
        row.error = error_class(row.scheme);
        const KvSettings settings = default_kv_settings(row.scheme);
        if (const Status status = check_kv_settings(settings, shape, INT64_MAX); !status) {
            row.unavailable = status.error().message;
        } else {
            row.bytes_per_token = kv_bytes_per_token(shape, row.scheme);
            row.largest_context = largest_context(*situation.model, {}, settings, situation.info.memory, budget);
            if (row.largest_context < situation.now.tokens)
                row.unavailable = fmt::format("The conversation has {} tokens already; {} fit.",
                                              group_digits(situation.now.tokens), group_digits(row.largest_context));
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

KvPrice price_choice(const KvSituation& situation, const KvChoice& choice) {
    const KvShape shape = kv_shape(situation.model->config);
    KvPrice price;
    price.choice = choice;
    price.bytes_per_token = kv_bytes_per_token(shape, choice.settings.scheme);
    price.bytes_now = committed(situation.now.memory, is_cache_line);
    price.reloads = choice.equalise != situation.info.equalise;

    if (const Status status = check_kv_settings(choice.settings, shape, choice.context_tokens); !status) {
        price.fits = false;
        price.sentence = status.error().message;
        return price;
    }
    if (choice.context_tokens < situation.now.tokens) {
        price.fits = false;
        price.sentence = fmt::format("The conversation has {} tokens already; a context of {} is too short.",
                                     group_digits(situation.now.tokens), group_digits(choice.context_tokens));
        return price;
    }
    price.bytes_after = cache_bytes(situation, choice.settings, situation.now.tokens);
    price.bytes_full = cache_bytes(situation, choice.settings, choice.context_tokens);
    price.bytes_needed = choice.settings.scheme == situation.now.cache.kv.scheme
                             ? price.bytes_after
                             : price.bytes_now + price.bytes_after;  // old and new side by side where there is room

    const int64_t needed = needed_bytes(situation, choice.settings, choice.context_tokens);
    const int64_t budget = memory_budget(situation);
    const CacheWish& now = situation.now.cache;
    const bool takes_less = now.context_length > 0 && needed <= needed_bytes(situation, now.kv, now.context_length);
    price.fits = needed <= budget || takes_less || situation.machine.total == 0;
    price.sentence = price.fits ? consequence(situation, price) : refusal(situation, choice, needed, budget);
    return price;
}

std::vector<MemoryLineState> memory_lines(const KvSituation& situation) {
    std::vector<MemoryLineState> lines;
    for (const MemoryLine& line : plan(situation, situation.now.cache.kv, situation.now.cache.context_length)) {
        MemoryLineState state;
        state.name = memory_line_name(line.kind);
        if (line.kind == MemoryLineKind::kv_copies) state.name = "window and sinks";
        if (line.kind == MemoryLineKind::checkpoints) state.name += ", at most";
        state.where = line.where;
        state.planned_bytes = line.committed_bytes;
        state.kind = static_cast<int>(line.kind);
        // The model's own lines are there before the conversation has any.
        if (situation.now.memory.empty() && line.kind != MemoryLineKind::draft && !is_of_conversation(line.kind))
            state.measured_bytes = line.committed_bytes;
        for (const MemoryLine& measured : situation.now.memory)
            if (measured.kind == line.kind && measured.where == line.where)
                state.measured_bytes = measured.committed_bytes;
        lines.push_back(std::move(state));
    }
    for (const MemoryLine& held : situation.now.memory) {
        if (held.kind != MemoryLineKind::experts || held.where != situation.info.memory.place) continue;
        lines.push_back({"experts, while there is room", std::string(held.where), held.committed_bytes,
                         held.committed_bytes, static_cast<int>(held.kind)});
    }
    if (situation.now.other_conversations_bytes > 0) {
        const int64_t bytes = situation.now.other_conversations_bytes;
        lines.push_back({"other open conversations", std::string(situation.info.memory.place), bytes, bytes,
                         static_cast<int>(lines.size())});
    }
    return lines;
}

int64_t fitting_context(const KvSituation& situation, const KvSettings& settings) {
    const int64_t longest = situation.model->config.context_length;
    if (situation.machine.total == 0) return longest;  // the system does not say
    const int64_t fits =
        largest_context(*situation.model, {}, settings, situation.info.memory, memory_budget(situation));
    return std::max<int64_t>(fits, std::min<int64_t>(longest, kStep));
}

}  // namespace octavo
