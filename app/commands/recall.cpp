// octavo recall: how well facts hidden in a long text are found under each KV setting, against a reference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/engine_setup.h"
#include "app/kv_choices.h"
#include "app/long_job.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/recall/recall_json.h"
#include "app/recall/recall_table.h"
#include "app/recall/thresholds.h"
#include "app/size_text.h"
#include "app/terminal/terminal_platform.h"
#include "app/text_file.h"
#include "runtime/recall/recall_run.h"

namespace octavo {
namespace {

constexpr const char* kSweptWindows = "0 128 512 1024";

struct Options {
    ModelOptions model;
    CacheOptions engine;
    KvChoices choices;
    std::string reference;
    std::vector<std::string> lengths = {"4k", "16k"};
    std::vector<std::string> families;
    std::string haystack = "log";
    std::string file;
    int64_t needles = 40;
    int64_t documents = 1;
    int64_t fidelity_positions = 4096;
    uint64_t seed = 1;
    bool window_sweep = false;
    bool no_controls = false;
    bool no_answer_prefix = false;
    bool resume = false;
    double least_correct = 0;
    double most_drop = 10;
    double most_kl = 0;
    std::string csv;
    JsonOption json;
};

Result<RecallPlan> plan_of(const Options& options) {
    RecallPlan plan;
    KvChoices choices = options.choices;
    if (options.window_sweep) choices.windows = {kSweptWindows};
    Result<std::vector<KvSettings>> candidates = kv_settings_of(choices);
    if (!candidates) return candidates.error();
    plan.candidates = std::move(*candidates);
    if (!options.reference.empty()) {
        const Result<KvScheme> scheme = parse_kv_scheme(options.reference);
        if (!scheme) return scheme.error();
        plan.reference = default_kv_settings(*scheme);
    }
    plan.lengths.clear();
    for (const std::string& word : list_words(options.lengths)) {
        const Result<int64_t> length = parse_size(word);
        if (!length) return length.error();
        plan.lengths.push_back(*length);
    }
    for (const std::string& word : list_words(options.families)) {
        const Result<RecallFamily> family = parse_recall_family(word);
        if (!family) return family.error();
        plan.families.push_back(*family);
    }
    const Result<RecallHaystack> haystack = parse_recall_haystack(options.file.empty() ? options.haystack : "file");
    if (!haystack) return haystack.error();
    plan.haystack = *haystack;
    if (plan.haystack == RecallHaystack::file) {
        if (options.file.empty()) return Error{ErrorKind::usage, "Name the text to hide needles in with -f FILE."};
        Result<std::string> text = read_text_file(options.file);
        if (!text) return text.error();
        plan.haystack_text = std::move(*text);
    }
    plan.needles = static_cast<int>(std::min<int64_t>(options.needles, 1 << 20));
    plan.documents = static_cast<int>(std::min<int64_t>(options.documents, 1 << 20));
    plan.seed = options.seed;
    plan.controls = !options.no_controls;
    plan.fidelity_positions = options.fidelity_positions;
    plan.answer_prefix = !options.no_answer_prefix;
    return plan;
}

// The sections of the JSON file that an earlier run has left; none where there is no such file.
Result<std::vector<RecallSection>> earlier_sections(const Options& options, const RecallReport& prepared) {
    if (!options.resume) return std::vector<RecallSection>{};
    if (!options.json.wanted || options.json.file == "-")
        return Error{ErrorKind::usage, "--resume goes on from the file of --json: name one."};
    if (!std::filesystem::exists(options.json.file)) return std::vector<RecallSection>{};
    const Result<std::string> text = read_text_file(options.json.file);
    if (!text) return text.error();
    Result<std::vector<RecallSection>> sections = finished_sections(*text, prepared);
    if (sections) return sections;
    return Error{sections.error().kind,
                 fmt::format("{} cannot be gone on from: {}", options.json.file, sections.error().message)};
}

std::string heading(const Model& model, const RecallReport& report) {
    const RecallPlan& plan = report.plan;
    return fmt::format("{}\n{}\n{} needles in {} document{} of each length, haystack {}, seed {}; reference {}\n",
                       model_line(model), report.backend, plan.needles, plan.documents, plan.documents == 1 ? "" : "s",
                       recall_haystack_name(plan.haystack), plan.seed, describe_kv_settings(*plan.reference));
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    if (!options.csv.empty()) {
        if (const Status target = check_writable(options.csv); !target) return fail(target.error());
    }
    const Result<RecallPlan> plan = plan_of(options);
    if (!plan) return fail(plan.error());
    const Result<std::unique_ptr<Engine>> engine = start_engine(options.model, options.engine);
    if (!engine) return fail(engine.error());
    const Result<RecallReport> prepared = prepare_recall(**engine, *plan);
    if (!prepared) return fail(prepared.error());
    const Result<std::vector<RecallSection>> earlier = earlier_sections(options, *prepared);
    if (!earlier) return fail(earlier.error());
    print_result(options.json, heading((*engine)->model(), *prepared));
    if (!earlier->empty()) print_error(fmt::format("goes on after {} finished parts", earlier->size()));

    const RecallThresholds thresholds{options.least_correct / 100, options.most_drop / 100, options.most_kl};
    Status written;
    const auto listener = [&](const RecallReport& so_far) {
        // At a terminal the progress line stands there.
        if (!is_terminal(Stream::error)) print_error(recall_section_line(so_far.sections.back()));
        if (!options.json.wanted || options.json.to_stdout()) return;
        RecallReport partial = so_far;
        partial.cancelled = true;
        if (written) written = write_json_text(options.json, recall_json_text(partial, thresholds));
    };
    const RecallRequest request{*plan, *earlier};
    const Result<RecallReport> report =
        run_long("recall", [&](Job& job) { return run_recall(**engine, request, job, listener); });
    if (!report) return fail(report.error());
    if (!written) return fail(written.error());

    print_result(options.json, recall_table(*report));
    const std::vector<std::string> failures = recall_failures(*report, thresholds);
    for (const std::string& failure : failures) print_result(options.json, "failed: " + failure + "\n");
    if (!options.csv.empty()) {
        if (const Status done = write_text_file(options.csv, recall_csv(*report)); !done) return fail(done.error());
    }
    if (options.json.wanted) {
        const Status done = write_json_text(options.json, recall_json_text(*report, thresholds));
        if (!done) return fail(done.error());
    }
    if (report->cancelled) {
        print_error(
            fmt::format("stopped; {} finished parts are kept{}.", report->sections.size(),
                        options.json.wanted && !options.json.to_stdout() ? ", --resume goes on from them" : ""));
        return exit_code(ErrorKind::cancelled);
    }
    return failures.empty() ? 0 : 1;
}

void add_text_choices(CLI::App& command, Options& options) {
    const auto add_list = [&command](const char* name, std::vector<std::string>& values, const char* text) {
        command.add_option(name, values, text)->type_name("LIST")->expected(1, 100);
    };
    add_list("--lengths", options.lengths, "Tokens before the questions (default: 4k 16k)");
    add_list("--families", options.families,
             "Of word_code, digits, multi_key, buried, named, multi_value, tracking (default: all)");
    command.add_option("--haystack", options.haystack, "log or prose, made from the seed")
        ->type_name("KIND")
        ->capture_default_str();
    command.add_option("-f,--file", options.file, "Hide the needles in this text")->type_name("FILE");
    add_count_option(command, "--needles", options.needles, "In each document (default: 40)");
    add_count_option(command, "--documents", options.documents,
                     "Of each length, from seeds that count on (default: 1)");
    add_seed_option(command, options.seed, "Of the first document");
    command.add_flag("--no-answer-prefix", options.no_answer_prefix,
                     "Do not begin each answer for the model (with \"The access code of the mill is\")");
    command.add_flag("--no-controls", options.no_controls, "Leave out masked cells, absent keys and the empty text");
    add_size_option(command, "--fidelity-positions", options.fidelity_positions,
                    "Last tokens that are compared with the reference (default: 4096; 0: none)");
}

void add_threshold_options(CLI::App& command, Options& options) {
    command.add_option("--min-correct", options.least_correct, "Percent that each setting must find, else exit code 1")
        ->type_name("P")
        ->check(between(0, 100))
        ->capture_default_str();
    command
        .add_option("--max-drop", options.most_drop, "Points that each may lie below the reference, else exit code 1")
        ->type_name("P")
        ->check(between(0, 100))
        ->capture_default_str();
    command.add_option("--max-kl", options.most_kl, "Mean KL to the reference that each may have (default: any)")
        ->type_name("X")
        ->check(between(0, 1e9));
}

}  // namespace

RunCommand add_recall_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    options->choices.schemes = {"bf16 q8_0 q6_0 q4_0 q2k q2"};
    add_kv_choices(command, options->choices);
    command.add_flag("--window-sweep", options->window_sweep, "Each with windows of 0, 128, 512 and 1024 tokens");
    command.add_option("--reference", options->reference, "The scheme to compare with (default: bf16, or what fits)")
        ->type_name("SCHEME");
    add_text_choices(command, *options);
    add_threshold_options(command, *options);
    command.add_flag("--resume", options->resume, "Go on from the --json file of a run that was stopped");
    add_file_option(command, "--csv", options->csv, "Write every answer as CSV");
    add_size_option(command, "--ctx", options->engine.context, "Context length in tokens (default: the model's)");
    command.add_option("--equalise", options->engine.equalise, "Scaling of channels: off, free or calibrated")
        ->type_name("E")
        ->capture_default_str();
    add_testing_options(command, options->engine);
    add_model_options(command, options->model);
    add_json_option(command, options->json);
    command.footer(
        "Exit code 0: thresholds and controls hold; 1: they do not. Ctrl-C stops it and keeps what is done.");
    return [options] { return run(*options); };
}

}  // namespace octavo
