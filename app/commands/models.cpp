// octavo models: the models on this machine, where other programs keep them, and which of them can be run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/library/library.h"
#include "app/long_job.h"
#include "app/options.h"
#include "app/output.h"
#include "app/printable_text.h"
#include "app/size_text.h"
#include "app/store/store.h"
#include "kernels/base/memory_platform.h"

namespace octavo {
namespace {

struct Options {
    std::vector<std::string> folders;
    bool only_folders = false;
    bool all = false;
    JsonOption json;
};

// Folders that the person chose in the window. A store that cannot be read has none.
std::vector<std::string> chosen_folders() {
    StoreOptions options;
    options.file = default_store_file();
    options.read_only = true;
    std::error_code error;
    if (options.file.empty() || !std::filesystem::exists(options.file, error)) return {};
    const Result<std::unique_ptr<Store>> store = Store::open(options);
    if (!store) return {};
    const Result<Settings> settings = (*store)->settings();
    if (!settings) return {};
    return settings->texts("model_folders").value_or(std::vector<std::string>{});
}

Result<std::vector<ModelPlace>> places_of(const Options& options) {
    std::vector<ModelPlace> places;
    std::error_code error;
    for (const std::string& folder : options.folders) {
        if (!std::filesystem::is_directory(folder, error))
            return Error{ErrorKind::usage, fmt::format("{} is no folder: name one after --folder.", folder)};
        places.push_back(place_of_folder(folder));
    }
    if (options.only_folders) return places;
    for (const std::string& folder : chosen_folders()) places.push_back(place_of_folder(folder));
    for (ModelPlace& place : places_of_other_programs(process_environment())) places.push_back(std::move(place));
    return places;
}

std::string facts(const LibraryModel& model, const MachineMemory& machine) {
    std::string text;
    const auto add = [&](const std::string& fact) {
        if (!fact.empty()) text += (text.empty() ? "" : ", ") + fact;
    };
    add(printable_line(model.architecture));
    add(printable_line(model.quantisation));
    if (model.bytes > 0) add(bytes_text(model.bytes));
    if (model.files > 1) add(fmt::format("{} files", model.files));
    add(printable_line(model.source + (model.group.empty() ? "" : ": " + model.group)));
    if (model.verdict == ModelVerdict::usable)
        add(fmt::format("needs about {} ({})", bytes_text(model.needed_bytes),
                        memory_fit_name(memory_fit(model, machine.total, machine.available))));
    return text;
}

void print_models(const Options& options, const ModelLibrary& library, const MachineMemory& machine) {
    std::string text;
    int hidden = 0;
    for (const LibraryModel& model : library.models) {
        if (model.verdict == ModelVerdict::unsupported && !options.all) {
            ++hidden;
            continue;
        }
        text += fmt::format("{}\n  {}\n", printable_line(model.name), facts(model, machine));
        if (!model.problem.empty()) text += fmt::format("  {}\n", printable_line(model.problem));
        for (const std::string& note : model.notes) text += fmt::format("  {}\n", printable_line(note));
        text += fmt::format("  {}\n", printable_line(model.location));
    }
    if (library.models.empty()) text += "No models were found.\n";
    if (hidden > 0)
        text += fmt::format("{} more cannot be run by this program (--all lists them, with the reasons).\n", hidden);
    text += library.places.empty() ? "No folder of a program that keeps models is here: name one with --folder.\n"
                                   : "\nLooked into:\n";
    for (const LibraryPlace& place : library.places) {
        text += fmt::format("  {} ({}): {} {}\n", printable_line(place.place.folder.string()),
                            printable_line(place.place.source), place.models, place.models == 1 ? "model" : "models");
        if (!place.error.empty()) text += fmt::format("    {}\n", place.error);
    }
    print_result(options.json, text);
}

std::string_view verdict_name(ModelVerdict verdict) {
    switch (verdict) {
        case ModelVerdict::usable: return "usable";
        case ModelVerdict::unsupported: return "unsupported";
        case ModelVerdict::incomplete: return "incomplete";
        case ModelVerdict::broken: return "broken";
    }
    return "";
}

nlohmann::json to_json(const ModelLibrary& library, const MachineMemory& machine) {
    nlohmann::json models = nlohmann::json::array();
    for (const LibraryModel& model : library.models)
        models.push_back({{"name", model.name},
                          {"group", model.group},
                          {"source", model.source},
                          {"path", model.path},
                          {"location", model.location},
                          {"architecture", model.architecture},
                          {"quantisation", model.quantisation},
                          {"bytes", model.bytes},
                          {"files", model.files},
                          {"parameters", model.parameters},
                          {"context_tokens", model.context_tokens},
                          {"needed_bytes", model.needed_bytes},
                          {"memory", memory_fit_name(memory_fit(model, machine.total, machine.available))},
                          {"verdict", verdict_name(model.verdict)},
                          {"problem", model.problem},
                          {"notes", model.notes}});
    nlohmann::json places = nlohmann::json::array();
    for (const LibraryPlace& place : library.places)
        places.push_back({{"source", place.place.source},
                          {"folder", place.place.folder.string()},
                          {"models", place.models},
                          {"error", place.error}});
    return {{"models", models}, {"places", places}};
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const Result<std::vector<ModelPlace>> places = places_of(options);
    if (!places) return fail(places.error());
    const Result<ModelLibrary> library = run_long("looking for models", [&](Job& job) -> Result<ModelLibrary> {
        ModelLibrary found = read_library(*places, {}, job);
        if (job.cancelled()) return Error{ErrorKind::cancelled, "Cancelled."};
        return found;
    });
    if (!library) return fail(library.error());
    const MachineMemory machine = machine_memory();
    print_models(options, *library, machine);
    return finish(options.json, to_json(*library, machine));
}

}  // namespace

RunCommand add_models_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    CLI::Option* folders = command.add_option("--folder", options->folders, "Look into this folder too")
                               ->type_name("FOLDER")
                               ->check(not_empty("the name is empty: name a folder."));
    command.add_flag("--only", options->only_folders, "Look into the folders of --folder only")->needs(folders);
    command.add_flag("--all", options->all, "List models that this program cannot run, too");
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
