// octavo chat: one question, a script of several turns, or a conversation at the terminal.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/chat/chat_input.h"
#include "app/chat/chat_runner.h"
#include "app/chat/conversation_recorder.h"
#include "app/chat/message_file.h"
#include "app/commands/commands.h"
#include "app/engine_setup.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/printable_text.h"
#include "app/recommended_sampling.h"
#include "app/size_text.h"
#include "app/text_file.h"

namespace octavo {
namespace {

struct Options {
    ModelOptions model;
    CacheOptions cache;
    JsonOption json;
    std::vector<std::string> prompts;
    std::string file;
    std::string system;
    std::optional<float> temperature;
    std::optional<int> top_k;
    std::optional<float> top_p;
    std::optional<float> min_p;
    std::optional<float> repeat_penalty;
    uint64_t seed = SamplerOptions().seed;
    std::string tools;
    int64_t max_tokens = 0;
    bool no_think = false;
    bool show_ids = false;
    std::string store;     // file of conversations; empty: the usual one
    int64_t resume = 0;    // conversation; 0: a new one
    bool save = false;     // also where that is not the rule
    bool no_save = false;  // not even at a prompt
};

// What the person says comes first, then what the file recommends.
Result<ReplySettings> reply_settings(const Options& options, const Model& model) {
    ReplySettings settings;
    SamplerOptions& sampler = settings.sampler;
    sampler = recommended_sampling(model);
    sampler.temperature = options.temperature.value_or(sampler.temperature);
    sampler.top_k = options.top_k.value_or(sampler.top_k);
    sampler.top_p = options.top_p.value_or(sampler.top_p);
    sampler.min_p = options.min_p.value_or(sampler.min_p);
    sampler.repeat_penalty = options.repeat_penalty.value_or(sampler.repeat_penalty);
    sampler.seed = options.seed;
    if (Status valid = check_sampler_options(sampler); !valid) return valid.error();
    Result<std::vector<std::string>> tools = read_tools_file(options.tools);
    if (!tools) return tools.error();
    settings.tools = std::move(*tools);
    settings.max_tokens = options.max_tokens;
    settings.thinking = !options.no_think;
    return settings;
}

nlohmann::json calls_json(const std::vector<ToolCall>& calls) {
    nlohmann::json list = nlohmann::json::array();
    for (const ToolCall& call : calls) list.push_back({{"name", call.name}, {"arguments", call.arguments}});
    return list;
}

nlohmann::json reply_json(const GenerationReport& report) {
    return {{"text", without_leading_space(report.text)},
            {"reasoning", report.reasoning},
            {"tool_calls", calls_json(report.calls)},
            {"ids", report.ids},
            {"prompt_tokens", report.prompt_tokens},
            {"reused_tokens", report.reused_tokens},
            {"prefilled_tokens", report.prefilled_tokens},
            {"prefill_tokens_per_s", report.prefill_tokens_per_s},
            {"decode_tokens_per_s", report.decode_tokens_per_s},
            {"total_seconds", report.total_seconds},
            {"stop", stop_reason_name(report.stop)},
            {"note", report.note},
            {"scheme", report.scheme},
            {"window", report.window},
            {"sinks", report.sinks},
            {"device", report.device}};
}

// The last turn's fields, and all turns in `turns`.
nlohmann::json chat_json(const std::vector<GenerationReport>& replies) {
    nlohmann::json turns = nlohmann::json::array();
    for (const GenerationReport& reply : replies) turns.push_back(reply_json(reply));
    nlohmann::json json = turns.empty() ? nlohmann::json::object() : turns.back();
    json["turns"] = std::move(turns);
    return json;
}

nlohmann::json sampling_json(const SamplerOptions& sampler, const Model& model) {
    return {{"temperature", sampler.temperature},
            {"top_k", sampler.top_k},
            {"top_p", sampler.top_p},
            {"min_p", sampler.min_p},
            {"seed", sampler.seed},
            {"repeat_penalty", sampler.repeat_penalty},
            {"from_model_file", model.sampling.any()}};
}

// What is not as one would expect without looking into the file.
void say_what_the_file_asks(const Model& model, const SamplerOptions& sampler, const ReplyView& view) {
    for (const std::string& note : model.notes) view.say(printable_line(note), false);
    if (model.sampling.any())
        view.say(fmt::format("sampling: {} (the model file recommends {})", sampling_text(sampler),
                             sampling_text(recommended_sampling(model))));
}

// What is said on the command line. A document goes before the first question; without one it is the question.
struct Script {
    std::optional<std::string> document;
    std::vector<std::string> inputs;
};

Result<Script> read_script(const Options& options) {
    Script script;
    script.inputs = options.prompts;
    for (size_t i = 0; i < script.inputs.size(); ++i)
        if (const Status text = check_text(fmt::format("Message {}", i + 1), script.inputs[i]); !text)
            return text.error();
    if (const Status text = check_text("The system prompt", options.system); !text) return text.error();
    if (options.file.empty()) return script;
    Result<std::string> document = read_text_file(options.file);
    if (!document) return document.error();
    script.document = std::move(*document);
    if (script.inputs.empty()) script.inputs.emplace_back();
    return script;
}

// The exit code with which the input ends the run; none: it goes on.
std::optional<int> run_input(ChatRunner& runner, const std::string& input) {
    const size_t replies = runner.replies().size();
    const Result<ChatRunner::Outcome> outcome = runner.run(input);
    if (!outcome) return fail(outcome.error());
    if (runner.replies().size() > replies && runner.replies().back().stop == StopReason::cancelled)
        return exit_code(ErrorKind::cancelled);
    return *outcome == ChatRunner::Outcome::quit ? std::optional(0) : std::nullopt;
}

int run_script(ChatRunner& runner, const std::vector<std::string>& inputs) {
    for (const std::string& input : inputs)
        if (const std::optional<int> code = run_input(runner, input)) return *code;
    return 0;
}

int run_piped(ChatRunner& runner) {
    const std::unique_ptr<ChatInput> input = make_piped_input();
    while (const std::optional<std::string> text = input->next("")) {
        if (text->empty()) continue;
        if (const std::optional<int> code = run_input(runner, *text)) return *code;
    }
    return 0;
}

int run_interactive(ChatRunner& runner, const Engine& engine, const ReplyView& view) {
    view.say(model_line(engine.model()), false);
    view.say(fmt::format("{}; KV cache {}, {} bytes a token; context {} tokens. /help lists what you can do.",
                         engine.info().backend, engine.info().scheme, group_digits(engine.info().bytes_per_token),
                         group_digits(engine.info().context_length)));
    const std::unique_ptr<ChatInput> input = make_terminal_input();
    while (const std::optional<std::string> text = input->next(runner.take_draft())) {
        if (text->empty()) continue;
        const Result<ChatRunner::Outcome> outcome = runner.run(*text);
        if (!outcome)
            print_error(outcome.error().message);
        else if (*outcome == ChatRunner::Outcome::quit)
            break;
    }
    return 0;
}

// What is behind a chat that is saved, or that goes on with a saved one.
struct SavedChat {
    std::unique_ptr<StoreThread> store;
    std::unique_ptr<ConversationRecorder> recorder;
    bool keeps = false;  // what is said from now on

    // Waits until all is kept, and says where. Gives the conversation; 0: it is not saved, or not whole.
    int64_t finish(const ReplyView& view) const {
        const int64_t id = keeps ? recorder->finish() : 0;
        if (id == 0) return 0;
        if (failed()) {
            view.say(fmt::format("not all that was said could be saved: conversation {} has the rest", id));
            return 0;
        }
        view.say(
            fmt::format("saved as conversation {0}: 'octavo chat --resume {0}' goes on with it, 'octavo "
                        "conversations' lists all",
                        id));
        return id;
    }
    // Whether something that was to be kept is not.
    bool failed() const { return keeps && !recorder->all_kept(); }
};

struct StoreSituation {
    StoreAccess access;
    std::vector<std::string> notices;
};

constexpr const char* kNoFolder =
    "There is no folder for conversations, so nothing is saved: set HOME, or name a file with --store.";

// Goes on with the conversation of --resume, and keeps what is said where that is wanted.
Result<SavedChat> start_saving(const Options& options, bool at_prompt, const std::string& model,
                               Conversation& conversation) {
    const bool save = !options.no_save && (options.save || at_prompt || options.resume > 0);
    SavedChat saved;
    if (!save && options.resume == 0) return saved;
    StoreOptions store_options;
    store_options.file = options.store.empty() ? default_store_file() : std::filesystem::path(options.store);
    store_options.read_only = !save;
    store_options.named = !options.store.empty();
    saved.store = std::make_unique<StoreThread>(store_options);
    Result<StoreSituation> situation = saved.store
                                           ->ask([](Store& store) -> Result<StoreSituation> {
                                               return StoreSituation{store.access(), store.notices()};
                                           })
                                           .get();
    if (!situation) return situation.error();
    if (save && store_options.file.empty()) situation->notices.emplace_back(kNoFolder);
    // Whoever asks for it wants no reply that is not saved.
    if (options.save && situation->access != StoreAccess::full) return Error{ErrorKind::io, situation->notices.front()};
    for (const std::string& notice : situation->notices) print_error(notice);
    saved.recorder = std::make_unique<ConversationRecorder>(*saved.store, model, print_error);
    if (options.resume > 0) {
        Result<std::vector<Message>> messages = saved.recorder->resume(options.resume);
        if (!messages) return messages.error();
        conversation.resume(std::move(*messages));
    }
    saved.keeps = save && situation->access == StoreAccess::full;
    if (saved.keeps) conversation.set_keeper(saved.recorder.get());
    return saved;
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const Result<Script> script = read_script(options);
    if (!script) return fail(script.error());
    const Result<std::unique_ptr<Engine>> engine = start_engine(options.model, options.cache);
    if (!engine) return fail(engine.error());
    const Model& model = (*engine)->model();
    if (const Status usable = need_chat(model); !usable) return fail(usable.error());
    const Result<ReplySettings> settings = reply_settings(options, model);
    if (!settings) return fail(settings.error());

    const bool at_terminal = is_terminal(Stream::input) && is_terminal(Stream::output);
    const bool interactive = script->inputs.empty() && at_terminal && !options.json.to_stdout();
    Conversation conversation(**engine, *settings);
    const Result<SavedChat> saved = start_saving(options, interactive, model.name, conversation);
    if (!saved) return fail(saved.error());
    if (!options.system.empty()) conversation.set_system_prompt(options.system);
    if (script->document)
        if (const Result<int64_t> attached = conversation.attach(*script->document); !attached)
            return fail(attached.error());
    ReplyView view(options.json.to_stdout());
    say_what_the_file_asks(model, settings->sampler, view);
    ChatRunner runner(conversation, view, interactive, options.show_ids);
    int code = interactive              ? run_interactive(runner, **engine, view)
               : script->inputs.empty() ? run_piped(runner)
                                        : run_script(runner, script->inputs);
    const int64_t conversation_id = saved->finish(view);
    if (options.save && saved->failed() && code == 0) code = exit_code(ErrorKind::io);
    if (runner.replies().empty() && code != 0) return code;
    if (runner.replies().empty() && options.json.wanted)
        return fail({ErrorKind::usage,
                     "Nothing was asked, so there is no reply to write as JSON: give a message with -p, with -f or on "
                     "standard input."});
    nlohmann::json json = chat_json(runner.replies());
    json["sampling"] = sampling_json(settings->sampler, model);
    if (conversation_id != 0) json["conversation"] = conversation_id;
    return finish(options.json, json, code);
}

void add_sampling_options(CLI::App& command, Options& options) {
    const auto add = [&command](const char* name, auto& value, const char* description) {
        command.add_option(name, value, description)->type_name("X")->group("Sampling");
    };
    add("--temp", options.temperature,
        "Temperature; 0 takes the best token (default: the file's, 0 for the bundled model)");
    add("--top-k", options.top_k, "Only the best K tokens; 0: all (default: the file's)");
    add("--top-p", options.top_p, "Only the best tokens with this share of the probability (default: the file's)");
    add("--min-p", options.min_p, "Only tokens this probable against the best one; 0: all (default: the file's)");
    add("--repeat-penalty", options.repeat_penalty, "Above 1, makes recent tokens less likely (default: the file's)");
    add_seed_option(command, options.seed, "The same seed gives the same replies")->group("Sampling");
}

void add_saving_options(CLI::App& command, Options& options) {
    const char* const group = "Saving";
    CLI::Option* const save =
        command.add_flag("--save", options.save, "Save the conversation of -p, -f or piped input too")->group(group);
    command.add_flag("--no-save", options.no_save, "Save nothing (default: saved at a prompt and with --resume)")
        ->excludes(save)
        ->group(group);
    command
        .add_option("--resume", options.resume, "Go on with a saved conversation ('octavo conversations' lists them)")
        ->type_name("ID")
        ->transform(whole_number(1, INT64_MAX))
        ->group(group);
    add_store_option(command, options.store)->group(group);
}

}  // namespace

RunCommand add_chat_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    command
        .add_option("-p,--prompt", options->prompts,
                    "A message; repeat it for several turns. '/regen' and the other commands work too")
        ->type_name("TEXT")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);  // else "[a, b]" would be two messages
    command
        .add_option("-f,--file", options->file,
                    "A text file as message, or before the first question; '-': standard input")
        ->type_name("FILE");
    command.add_option("--system", options->system, "System prompt")->type_name("TEXT");
    add_count_option(command, "-n,--max-tokens", options->max_tokens,
                     "Most tokens of a reply (default: until it ends)");
    add_file_option(command, "--tools", options->tools,
                    "JSON: an array of tools that the model may call; its calls are shown, not run");
    command.add_flag("--no-think", options->no_think, "No thinking, with models that think");
    command.add_flag("--ids", options->show_ids, "Print the token ids of each reply after it");
    add_saving_options(command, *options);
    add_sampling_options(command, *options);
    add_model_options(command, options->model);
    add_cache_options(command, options->cache);
    add_json_option(command, options->json);
    command.footer(
        "Without -p and -f: a prompt with history where there is a terminal; else every line of standard input is a\n"
        "message (or a command, or a block between lines of three quotation marks). Ctrl-C stops the reply.");
    return [options] { return run(*options); };
}

}  // namespace octavo
