// octavo conversations: what is stored, listed, searched, shown, exported, imported and deleted, without a window.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/date_text.h"
#include "app/output.h"
#include "app/printable_text.h"
#include "app/store/store.h"
#include "app/store/transfer.h"
#include "app/text_file.h"

namespace octavo {
namespace {

using nlohmann::json;

struct Options {
    std::string store;  // empty: the usual file
    JsonOption json;
    bool trash = false;
    std::string words;
    std::vector<int64_t> ids;
    bool all = false;
    std::string file;
    bool markdown = false;
    std::function<int(const Options&)> action;
};

enum class Purpose {
    read,
    change,  // of what is there
    add,     // to a file that may be new
};

// With access that is not full, notices say why; a command that reads can do with what could be opened of the file.
Result<std::unique_ptr<Store>> open_store(const Options& options, Purpose purpose) {
    StoreOptions store_options;
    store_options.file = options.store.empty() ? default_store_file() : std::filesystem::path(options.store);
    store_options.read_only = purpose == Purpose::read;
    store_options.named = !options.store.empty();
    if (store_options.file.empty())
        return Error{ErrorKind::usage, "There is no folder for conversations: set HOME, or name a file with --store."};
    // The usual file comes with the first conversation; one that is named is expected to be there.
    std::error_code unknown;
    if (!options.store.empty() && purpose != Purpose::add && !std::filesystem::exists(options.store, unknown) &&
        !unknown)
        return Error{ErrorKind::io, fmt::format("There is no file {}: check the name after --store.", options.store)};
    Result<std::unique_ptr<Store>> store = Store::open(store_options);
    if (!store) return store;
    const bool usable = purpose == Purpose::read
                            ? (*store)->access() != StoreAccess::temporary || (*store)->notices().empty()
                            : (*store)->access() == StoreAccess::full;
    if (!usable) return Error{ErrorKind::io, (*store)->notices().front()};
    for (const std::string& notice : (*store)->notices()) print_error(notice);
    return store;
}

json summary_json(const ConversationSummary& summary) {
    return {{"id", summary.id},
            {"title", summary.title},
            {"created_ms", summary.created_ms},
            {"updated_ms", summary.updated_ms},
            {"deleted_ms", summary.deleted_ms}};
}

std::string summary_line(const ConversationSummary& summary) {
    return fmt::format("{:>6}  {}  {}\n", summary.id, date_text(summary.updated_ms),
                       summary.title.empty() ? "(untitled)" : printable_line(summary.title));
}

int list(const Options& options) {
    const auto store = open_store(options, Purpose::read);
    if (!store) return fail(store.error());
    const auto summaries = (*store)->conversations(options.trash);
    if (!summaries) return fail(summaries.error());
    json rows = json::array();
    for (const ConversationSummary& summary : *summaries) {
        print_result(options.json, summary_line(summary));
        rows.push_back(summary_json(summary));
    }
    if (summaries->empty()) print_result(options.json, "There are no conversations.\n");
    return finish(options.json, json{{"conversations", rows}});
}

int search(const Options& options) {
    const auto store = open_store(options, Purpose::read);
    if (!store) return fail(store.error());
    const auto results = (*store)->search(options.words);
    if (!results) return fail(results.error());
    json rows = json::array();
    for (const SearchHit& hit : results->hits) {
        print_result(options.json, summary_line(hit.conversation));
        if (!hit.excerpt.empty()) print_result(options.json, fmt::format("{:26}{}\n", "", printable_line(hit.excerpt)));
        json row = summary_json(hit.conversation);
        row["message"] = hit.message_id;
        row["excerpt"] = hit.excerpt;
        rows.push_back(std::move(row));
    }
    if (results->hits.empty()) print_result(options.json, "Nothing was found.\n");
    if (results->messages_not_searched > 0)
        print_error(fmt::format("{} older messages were not looked at: longer or rarer words reach all of them.",
                                results->messages_not_searched));
    return finish(options.json, json{{"hits", rows}, {"messages_not_searched", results->messages_not_searched}});
}

// The conversations that are meant, whole. What could not be read in them is told.
Result<std::vector<StoredConversation>> read_chosen(Store& store, const Options& options) {
    std::vector<int64_t> ids = options.ids;
    if (options.all) {
        const auto summaries = store.conversations();
        if (!summaries) return summaries.error();
        for (const ConversationSummary& summary : *summaries) ids.push_back(summary.id);
    }
    std::vector<StoredConversation> chosen;
    for (const int64_t id : ids) {
        Result<StoredConversation> conversation = store.conversation(id);
        if (!conversation) return conversation.error();
        for (const std::string& problem : conversation->problems) print_error(problem);
        chosen.push_back(std::move(*conversation));
    }
    return chosen;
}

std::string markdown_of(const std::vector<StoredConversation>& conversations) {
    std::string text;
    for (const StoredConversation& conversation : conversations) text += conversation_to_markdown(conversation);
    return text;
}

int show(const Options& options) {
    const auto store = open_store(options, Purpose::read);
    if (!store) return fail(store.error());
    const auto chosen = read_chosen(**store, options);
    if (!chosen) return fail(chosen.error());
    print_result(options.json, printable_text(markdown_of(*chosen)));
    return finish(options.json, json::parse(conversations_to_json(*chosen)));
}

int export_chosen(const Options& options) {
    if (options.all && !options.ids.empty())
        return fail({ErrorKind::usage, "Both numbers and --all were given: leave out one of them."});
    if (!options.all && options.ids.empty())
        return fail({ErrorKind::usage, "Say which conversations: their numbers, or --all."});
    const bool to_stdout = options.file == "-";
    if (to_stdout && options.json.to_stdout())
        return fail(
            {ErrorKind::usage, "Both --output and --json would write to standard output: name a file for one."});
    if (!to_stdout && !options.markdown)
        if (const Status target = check_overwrites_json_only(options.file); !target) return fail(target.error());
    if (!to_stdout && options.markdown && std::filesystem::exists(options.file))
        return fail(
            {ErrorKind::usage, fmt::format("{} exists and is not overwritten: name another file.", options.file)});
    const auto store = open_store(options, Purpose::read);
    if (!store) return fail(store.error());
    const auto chosen = read_chosen(**store, options);
    if (!chosen) return fail(chosen.error());
    const std::string text = options.markdown ? markdown_of(*chosen) : conversations_to_json(*chosen) + "\n";
    if (to_stdout) {
        print_result(options.json, text);
    } else {
        if (const Status written = write_text_file(options.file, text); !written) return fail(written.error());
        print_result(options.json, fmt::format("{} conversation{} written to {}\n", chosen->size(),
                                               chosen->size() == 1 ? "" : "s", options.file));
    }
    return finish(options.json, json{{"conversations", chosen->size()}, {"file", options.file}});
}

int import_file(const Options& options) {
    const Result<std::string> text = read_text_file(options.file, kMaxImportBytes);
    if (!text) return fail(text.error());
    const auto conversations = conversations_from_json(*text);
    if (!conversations) return fail(conversations.error());
    const auto store = open_store(options, Purpose::add);
    if (!store) return fail(store.error());
    json rows = json::array();
    for (const StoredConversation& conversation : *conversations) {
        const Result<int64_t> id = (*store)->add_conversation(conversation);
        if (!id) return fail(id.error());
        rows.push_back(*id);
        print_result(options.json, fmt::format("{:>6}  {}\n", *id, printable_line(conversation.summary.title)));
    }
    return finish(options.json, json{{"ids", rows}});
}

// One change to each of the conversations that are meant; none where one of them does not exist. Each that is done is
// told, with `where` it is now.
int change_each(const Options& options, Status (Store::*change)(int64_t), const std::string& where) {
    const auto store = open_store(options, Purpose::change);
    if (!store) return fail(store.error());
    std::vector<ConversationSummary> summaries;
    for (const int64_t id : options.ids) {
        const auto summary = (*store)->summary(id);
        if (!summary) return fail(summary.error());
        summaries.push_back(*summary);
    }
    for (const ConversationSummary& summary : summaries) {
        if (const Status done = (**store.*change)(summary.id); !done) return fail(done.error());
        print_result(options.json, summary_line(summary));
    }
    print_result(options.json, where + "\n");
    return finish(options.json, json{{"ids", options.ids}});
}

int trash(const Options& options) {
    return change_each(
        options, &Store::trash_conversation,
        fmt::format("Now in the trash for {} days; 'octavo conversations restore' takes it back.", Store::kTrashDays));
}
int restore(const Options& options) {
    return change_each(options, &Store::restore_conversation, "Now back in the list.");
}

}  // namespace

RunCommand add_conversations_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    options->action = list;
    add_store_option(command, options->store);
    command.require_subcommand(0, 1);
    command.fallthrough();
    add_json_option(command, options->json);
    const auto add = [&](const char* name, const char* description, int (*action)(const Options&)) {
        CLI::App* sub = command.add_subcommand(name, description);
        sub->callback([options, action] { options->action = action; });
        return sub;
    };
    const auto add_ids = [&](CLI::App* sub, bool required) {
        sub->add_option("ID", options->ids, "Number of a conversation, as 'list' shows it")
            ->required(required)
            ->transform(whole_number(1, INT64_MAX));
    };

    add("list", "All conversations, newest first (the default)", list)
        ->add_flag("--trash", options->trash, "Those that were deleted and can still be restored");
    add("search", "Conversations whose title or messages have all the words", search)
        ->add_option("TEXT", options->words, "Words in any order; \"between quotation marks\": as they stand")
        ->required();
    add_ids(add("show", "A conversation as Markdown; --json: all of it", show), true);
    CLI::App* out = add("export", "Write conversations to a file: JSON, which loses nothing", export_chosen);
    add_ids(out, false);
    out->add_flag("--all", options->all, "All but those in the trash");
    add_file_option(*out, "-o,--output", options->file, "File to write; -: standard output")->required();
    out->add_flag("--markdown", options->markdown, "Markdown instead, of what is shown");
    add_file_option(
        *add("import", "Add the conversations of a file that 'export' or a chat's /save wrote", import_file), "FILE",
        options->file, "JSON file")
        ->required();
    add_ids(
        add("delete", fmt::format("Put conversations into the trash, for {} days", Store::kTrashDays).c_str(), trash),
        true);
    add_ids(add("restore", "Take conversations out of the trash", restore), true);
    return [options] {
        if (const Status target = check_json_target(options->json); !target) return fail(target.error());
        return options->action(*options);
    };
}

}  // namespace octavo
