#include "ui/testing/sample_states.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "ui/testing/sample_texts.h"

namespace octavo {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

std::shared_ptr<const MessageView> shared(MessageView message) {
    return std::make_shared<const MessageView>(std::move(message));
}

ReplyFiguresView figures(int64_t prompt, int64_t reused, int64_t decoded) {
    return {.prompt_tokens = prompt,
            .reused_tokens = reused,
            .prefilled_tokens = prompt - reused,
            .prefill_tokens_per_s = 341,
            .decoded_tokens = decoded,
            .decode_tokens_per_s = 38.2,
            .scheme = "q4_0, window 128, sinks 64",
            .device = "cpu, avx512, 2 threads"};
}

void add_conversations(ViewState& state) {
    state.conversations.items = {
        {.id = 1, .title = "The harbour master's list", .time_text = "14:02", .group_text = "Today", .messages = 4},
        {.id = 2, .title = "Who signs the ferry contract?", .time_text = "11:40", .group_text = "Today", .messages = 2},
        {.id = 3,
         .title = "Notes on the second chapter, with a title that is much too long for the list",
         .time_text = "09:15",
         .group_text = "Today",
         .messages = 18},
        {.id = 4, .title = "灯塔的门禁码", .time_text = "Yesterday", .group_text = "Yesterday", .messages = 6},
        {.id = 5, .title = "Repository tour", .time_text = "Yesterday", .group_text = "Yesterday", .messages = 31},
        {.id = 6, .title = "Tide tables", .time_text = "3 Nov", .group_text = "Earlier", .messages = 2}};
    state.conversations.selected = 1;
}

void add_model(ViewState& state) {
    state.engine = {.phase = EnginePhase::idle,
                    .model = "Pocket",
                    .scheme = "q4_0, window 128, sinks 64",
                    .device = "cpu, avx512, 2 threads"};
    state.model.loaded = ModelState::Loaded{.path = "",
                                            .name = "Pocket",
                                            .architecture = "qwen3next",
                                            .parameters = "31.2 M parameters",
                                            .quantisation = "31.5 MiB Q8_0, 331.4 KiB F32",
                                            .bytes = 32 * kMiB,
                                            .layers = 8,
                                            .attention_layers = 2,
                                            .context_tokens = 262144,
                                            .placement = "everything on the CPU"};
    state.model.machine = "15.6 GiB of memory, 8 cores, no GPU";
    state.model.devices = {{"auto", "Automatic", ""}, {"cpu", "CPU", ""}, {"cuda", "CUDA", "no CUDA driver was found"}};
}

void add_kv(ViewState& state) {
    struct Row {
        const char* name;
        int64_t bytes_per_token;
        KvErrorClass error;
        KvSpeedClass speed;
    };
    constexpr Row rows[] = {{"f16", 4096, KvErrorClass::exact, KvSpeedClass::fast},
                            {"q8_0", 2176, KvErrorClass::very_low, KvSpeedClass::fast},
                            {"q6_0", 1664, KvErrorClass::low, KvSpeedClass::medium},
                            {"q4_0", 1152, KvErrorClass::medium, KvSpeedClass::fast},
                            {"q2", 704, KvErrorClass::high, KvSpeedClass::medium}};
    state.kv.available = true;
    for (const Row& row : rows) {
        const auto scheme = parse_kv_scheme(row.name);
        if (!scheme) continue;
        state.kv.rows.push_back({.scheme = *scheme,
                                 .name = row.name,
                                 .text = "",
                                 .bytes_per_token = row.bytes_per_token,
                                 .largest_context = 262144,
                                 .error = row.error,
                                 .speed = row.speed,
                                 .unavailable = ""});
    }
    state.kv.applied.settings = default_kv_settings({KvFormat::q4_0, KvFormat::q4_0});
    state.kv.applied.context_tokens = 262144;
    state.kv.bytes_per_token = 1152;
    state.kv.used_tokens = 21160;
    state.kv.context_limit = 262144;
    state.kv.window_limit = 4096;
    state.kv.plan = {{"weights", "cpu", 32 * kMiB, 32 * kMiB, 0},     {"KV cache", "cpu", 25 * kMiB, 26 * kMiB, 1},
                     {"FP16 copies", "cpu", kMiB, kMiB, 2},           {"recurrent state", "cpu", 3 * kMiB, 3 * kMiB, 3},
                     {"checkpoints", "cpu", 12 * kMiB, 12 * kMiB, 4}, {"workspace", "cpu", 18 * kMiB, 18 * kMiB, 5}};
    state.kv.memory_name = "memory";
    state.kv.memory_total_bytes = 15974 * kMiB;
    state.kv.memory_free_bytes = 9120 * kMiB;
    state.kv.other_bytes = 6762 * kMiB;
}

void add_messages(ViewState& state) {
    state.transcript.conversation = 1;
    state.transcript.title = "The harbour master's list";
    state.transcript.messages = {
        shared({.id = 1,
                .role = Role::user,
                .text = "What is the access code of the lighthouse, and who may use it?",
                .attachments = {{"harbour.txt", 84211, 21073}}}),
        shared({.id = 2,
                .role = Role::assistant,
                .text = std::string(sample_reply),
                .thinking = std::string(sample_thinking),
                .thinking_seconds = 6.4,
                .figures = figures(21095, 0, 214)}),
        shared({.id = 3, .role = Role::user, .text = "Write the check as code, please.", .sibling = 2, .siblings = 3}),
        shared({.id = 4,
                .role = Role::assistant,
                .text = std::string(sample_code_reply),
                .figures = figures(21340, 21311, 121)})};
    state.composer = {.held_tokens = 21461, .reserve_tokens = 4096, .context_tokens = 262144, .can_send = true};
}

ViewState chat() {
    ViewState state;
    add_conversations(state);
    add_model(state);
    add_kv(state);
    add_messages(state);
    return state;
}

struct Sample {
    std::string_view name;
    ViewState (*make)();
};

ViewState empty() { return {}; }

constexpr Sample kSamples[] = {{"chat", chat}, {"empty", empty}};

constexpr auto kNames = [] {
    std::array<std::string_view, std::size(kSamples)> names;
    for (size_t i = 0; i < names.size(); ++i) names[i] = kSamples[i].name;
    return names;
}();

}  // namespace

std::span<const std::string_view> sample_state_names() { return kNames; }

Result<ViewState> sample_state(std::string_view name) {
    for (const Sample& sample : kSamples)
        if (sample.name == name) return sample.make();
    return Error{ErrorKind::usage,
                 fmt::format("There is no sample '{}'; there are {}.", name, fmt::join(kNames, ", "))};
}

}  // namespace octavo
