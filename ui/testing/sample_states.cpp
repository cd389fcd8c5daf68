#include "ui/testing/sample_states.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "ui/testing/sample_texts.h"

namespace octavo {
namespace {

constexpr int64_t kKiB = int64_t{1} << 10;
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
            .scheme = "q4_0, window 1024, sinks 64",
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

void add_model_list(ViewState& state) {
    auto list = std::make_shared<ModelList>();
    list->items = {{.path = "/models/Qwen3.6-35B-A3B-Q4_K_M.gguf",
                    .name = "Qwen3.6-35B-A3B-Q4_K_M",
                    .details = "qwen35moe, Q4_K_M, LM Studio: unsloth/Qwen3.6-35B-A3B-GGUF",
                    .bytes = 20206 * kMiB,
                    .warning = "It needs about 19.2 GiB of memory, and this machine has 15.6 GiB: it would read from "
                               "the disk all the time.",
                    .notes = {"Its draft (MTP) block, 0.6 GiB, is not used yet.",
                              "The vision part beside it, mmproj-F16.gguf, is not used."}},
                   {.path = "/models/Qwen3.5-9B-A2B-Q5_K_M.gguf",
                    .name = "Qwen3.5-9B-A2B-Q5_K_M",
                    .details = "qwen35moe, Q5_K_M, Hugging Face: Qwen/Qwen3.5-9B-A2B-GGUF",
                    .bytes = 6620 * kMiB}};
    list->refused = {{.path = "/models/llama.gguf",
                      .name = "Llama-3.1-8B-Q4_K_M",
                      .details = "llama, Q4_K_M, llama.cpp",
                      .bytes = 4692 * kMiB,
                      .problem = "Not a model Octavo can run: its architecture is llama; supported are qwen3next, "
                                 "qwen35moe and qwen35."},
                     {.name = "Qwen3-Next-80B-A3B-Instruct-Q4_K_M",
                      .details = "Hugging Face: Qwen/Qwen3-Next-80B-A3B-Instruct-GGUF",
                      .problem = "The download is not finished."}};
    state.model.list = std::move(list);
    state.model.folders = {{"/data/models", "", 1, ""},
                           {"/home/me/.lmstudio/models", "LM Studio", 1, ""},
                           {"/home/me/.cache/huggingface/hub", "Hugging Face", 2, ""}};
}

void add_model(ViewState& state) {
    state.engine = {.phase = EnginePhase::idle,
                    .model = "Pocket",
                    .scheme = "q4_0, window 1024, sinks 64",
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
    add_model_list(state);
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
    state.kv.used_tokens = 21461;
    state.kv.context_limit = 262144;
    state.kv.window_limit = 4096;
    // As the plan of the bundled model has it.
    state.kv.plan = {{"weights", "cpu", 32 * kMiB, 32 * kMiB, 0},
                     {"KV cache", "cpu", 288 * kMiB, 24 * kMiB, 1},
                     {"FP16 window, sinks", "cpu", 17 * kMiB / 4, 17 * kMiB / 4, 2},
                     {"recurrent state", "cpu", 840 * kKiB, 840 * kKiB, 3},
                     {"checkpoints", "cpu", 12 * kMiB, 9 * kMiB, 4},
                     {"workspace", "cpu", 12 * kMiB, 12 * kMiB, 5}};
    state.kv.memory_name = "memory";
    state.kv.memory_total_bytes = 15974 * kMiB;
    state.kv.memory_free_bytes = 9120 * kMiB;
    state.kv.other_bytes = 6762 * kMiB;
}

RecallCellView recall_cell(int64_t length, int depth, int64_t correct) {
    return {.length_tokens = length,
            .depth_percent = depth,
            .n = 4,
            .correct = correct,
            .wilson_low = correct == 4 ? 0.51 : 0.30,
            .wilson_high = correct == 4 ? 1.0 : 0.95,
            .answers = {}};
}

void add_recall(ViewState& state) {
    auto run = std::make_shared<RecallRunView>();
    run->id = 1;
    run->model = "Pocket";
    run->time_text = "14:02";
    run->schemes = {{.name = "q4_0, window 1024, sinks 64",
                     .n = 40,
                     .correct = 38,
                     .wilson_low = 0.835,
                     .wilson_high = 0.986,
                     .wrong = 2,
                     .cells = {},
                     .details = {}}};
    for (const int64_t length : {4096, 16384})
        for (const int depth : {0, 25, 50, 75, 100})
            run->schemes[0].cells.push_back(recall_cell(length, depth, length > 4096 && depth % 50 == 25 ? 3 : 4));
    state.recall.available = true;
    state.recall.settings = "q4_0, window 1024, sinks 64.";
    state.recall.lengths = {4096, 16384, 65536, 131072, 262144};
    state.recall.history = {{1, "Pocket, q4_0, 4K to 16K", "14:02"}, {2, "Pocket, f16, 4K", "11:40"}};
    state.recall.shown = std::move(run);
}

void add_sampling(ViewState& state) {
    SamplerOptions exact;
    exact.temperature = 0;
    SamplerOptions lively;
    lively.temperature = 1;
    lively.min_p = 0.05f;
    state.sampling.presets = {{"Usual", "always the most probable token", exact},
                              {"Lively", "temperature 1, min-p 0.05", lively}};
    state.sampling.applied.sampler = lively;
    state.sampling.system_prompt_tokens = 0;
    state.sampling.can_think = true;
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
    add_recall(state);
    add_sampling(state);
    add_messages(state);
    return state;
}

// The newest message replaced by a reply that is on its way.
void add_reply(ViewState& state, MessageView reply) {
    reply.id = 4;
    reply.revision = 7;
    reply.role = Role::assistant;
    state.transcript.messages.back() = shared(std::move(reply));
    state.composer.can_send = false;
}

ViewState prefilling() {
    ViewState state = chat();
    add_reply(state, {.phase = MessagePhase::prefilling});
    state.engine.phase = EnginePhase::prefilling;
    state.engine.done = 12288;
    state.kv.used_tokens = state.composer.held_tokens = 12288;
    state.engine.total = 21340;
    state.engine.reused_tokens = 8192;
    state.engine.tokens_per_s = 341;
    state.engine.seconds_left = 26;
    return state;
}

ViewState thinking() {
    ViewState state = chat();
    add_reply(state,
              {.phase = MessagePhase::thinking, .thinking = std::string(sample_thinking), .thinking_seconds = 3.4});
    state.engine.phase = EnginePhase::decoding;
    state.engine.tokens_per_s = 38.2;
    return state;
}

ViewState writing() {
    ViewState state = chat();
    add_reply(state, {.phase = MessagePhase::writing,
                      .text = std::string(sample_code_reply.substr(0, 260)),
                      .thinking = std::string(sample_thinking),
                      .thinking_seconds = 6.4});
    state.engine.phase = EnginePhase::decoding;
    state.engine.tokens_per_s = 38.2;
    return state;
}

ViewState failed() {
    ViewState state = chat();
    add_reply(
        state,
        {.phase = MessagePhase::failed,
         .note =
             "The KV cache needs 1.25 GiB more and 310.0 MiB are free: take a smaller scheme or a shorter context."});
    state.notices = {{.id = 1,
                      .kind = NoticeKind::error,
                      .text = "The KV cache could not grow to 262,144 tokens: 1.25 GiB wanted, 310.0 MiB free.",
                      .buttons = {{"Use q4_0", action::DiscardKv{}}, {"Shorter context", action::DiscardKv{}}}},
                     {.id = 2, .kind = NoticeKind::success, .text = "Exported to harbour.md.", .buttons = {}}};
    state.composer.blocked_reason = "This message and the reply need 270,112 tokens; the context has 262,144.";
    state.composer.can_send = false;
    state.conversations.deleted = ConversationsState::Deleted{7, "Tide tables of last year"};
    return state;
}

ViewState stopped() {
    ViewState state = chat();
    add_reply(state, {.phase = MessagePhase::stopped,
                      .text = std::string(sample_reply.substr(0, 330)),
                      .note = "Stopped by you.",
                      .figures = figures(21340, 21311, 64)});
    state.composer.can_send = true;
    return state;
}

ViewState scripts() {
    ViewState state = chat();
    state.transcript.title = "灯塔的门禁码 \xF0\x9F\x98\x80 \xFF";
    state.transcript.messages = {shared({.id = 1, .role = Role::user, .text = std::string(sample_scripts)}),
                                 shared({.id = 2,
                                         .role = Role::assistant,
                                         .text = std::string(sample_scripts),
                                         .thinking = std::string(sample_scripts)})};
    state.composer.draft = std::string(sample_scripts);
    state.composer.draft_revision = 1;
    return state;
}

// A megabyte of everything, in forty turns and in one reply.
ViewState long_text() {
    ViewState state = chat();
    state.transcript.messages.clear();
    std::string large;
    while (large.size() < (size_t{1} << 19)) large += fmt::format("{}\n\n{}\n\n", sample_reply, sample_code_reply);
    for (int64_t turn = 0; turn < 40; ++turn) {
        state.transcript.messages.push_back(
            shared({.id = 2 * turn + 1, .role = Role::user, .text = fmt::format("Question {}", turn)}));
        state.transcript.messages.push_back(shared({.id = 2 * turn + 2,
                                                    .role = Role::assistant,
                                                    .text = large.substr(0, 13000),
                                                    .figures = figures(21340, 21311, 64)}));
    }
    state.transcript.messages.push_back(shared({.id = 1000, .role = Role::assistant, .text = large}));
    return state;
}

ViewState loading() {
    ViewState state;
    add_conversations(state);
    state.conversations.loading = true;
    state.transcript.loading = true;
    state.transcript.conversation = 1;
    state.engine.phase = EnginePhase::loading;
    state.engine.model = "Qwen3.5-35B-A3B";
    state.engine.done = 37;
    state.engine.total = 100;
    state.model.loading = ModelState::Loading{"Qwen3.5-35B-A3B-Q4_K_M.gguf", 7900 * kMiB, 20300 * kMiB, false};
    return state;
}

ViewState attached() {
    ViewState state = chat();
    state.composer.draft = "Compare the two texts: where do they differ about the hours, and which of them is newer?";
    state.composer.draft_revision = 1;
    state.composer.attachments = {{"harbour.txt", 84211, 21073},
                                  {"a file with a very long name that does not fit anywhere.md", 5 * kMiB, -1}};
    state.composer.message_tokens = 21095;
    state.composer.editing_message = 3;
    return state;
}

ViewState empty() { return {}; }

ViewState welcome() {
    ViewState state;
    add_model(state);
    add_kv(state);
    add_recall(state);
    add_sampling(state);
    // Nothing was said yet.
    state.kv.used_tokens = 0;
    for (MemoryLineState& line : state.kv.plan)
        if (line.name == "KV cache" || line.name.starts_with("checkpoints")) line.measured_bytes = 0;
    state.transcript.conversation = 9;
    state.composer = chat().composer;
    state.composer.held_tokens = 0;
    state.welcome = {
        .shown = true,
        .model = "Pocket, a small model inside this program, is ready. It finds facts in the text it is given.",
        .machine = "15.6 GiB of memory, 8 cores, no GPU: models of up to 12 GiB, with 262,144 tokens of context.",
        .example_name = "harbour.txt",
        .suggestions = {"What is the access code of the lighthouse?", "Who painted the ceiling?",
                        "When does the last ferry leave?"}};
    return state;
}

struct Sample {
    std::string_view name;
    ViewState (*make)();
};

constexpr Sample kSamples[] = {{"chat", chat},       {"empty", empty},           {"welcome", welcome},
                               {"loading", loading}, {"prefilling", prefilling}, {"thinking", thinking},
                               {"writing", writing}, {"failed", failed},         {"stopped", stopped},
                               {"scripts", scripts}, {"attached", attached},     {"long", long_text}};

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
