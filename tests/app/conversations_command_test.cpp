// `octavo conversations` from outside.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process_platform.h"
#include "tests/support/store_samples.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace octavo {
namespace {

using nlohmann::json;

class ConversationsCommand : public testing::Test {
  protected:
    ConversationsCommand() {
        const std::unique_ptr<Store> store = open_store(file_);
        id_ = value_of(store->create_conversation());
        const int64_t question = value_of(store->add_message(id_, user_message("Where is the 灯塔, \x1b[31mOrla?")));
        expect_ok(store->add_message(id_, reply_message("By the sea.", question)));
    }
    ProcessResult run(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {OCTAVO_PROGRAM, "conversations", "--store", file_.string()});
        return run_process(arguments);
    }
    json run_json(std::vector<std::string> arguments) const {
        arguments.emplace_back("--json");
        const ProcessResult result = run(arguments);
        EXPECT_EQ(result.exit_code, 0) << result.errors;
        return json::parse(result.output, nullptr, false);
    }

    TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "conversations.db";
    int64_t id_ = 0;
};

TEST_F(ConversationsCommand, ListsSearchesAndShows) {
    const ProcessResult list = run({});
    EXPECT_EQ(list.exit_code, 0) << list.errors;
    EXPECT_NE(list.output.find("Where is the 灯塔"), std::string::npos) << list.output;
    EXPECT_EQ(list.output.find('\x1b'), std::string::npos) << "safe for a terminal";
    EXPECT_EQ(run_json({"list"})["conversations"][0]["id"], id_);
    EXPECT_EQ(run_json({"search", "by SEA"})["hits"][0]["excerpt"], "By the sea.");
    EXPECT_EQ(run_json({"search", "灯塔"})["hits"].size(), 1u);
    EXPECT_NE(run({"search", "walrus"}).output.find("Nothing was found"), std::string::npos);
    const ProcessResult shown = run({"show", std::to_string(id_)});
    EXPECT_NE(shown.output.find("## Reply\n\nBy the sea."), std::string::npos) << shown.output;
    EXPECT_EQ(shown.output.find('\x1b'), std::string::npos);
    const ProcessResult missing = run({"show", "99"});
    EXPECT_EQ(missing.exit_code, 2);
    EXPECT_NE(missing.errors.find("no conversation 99"), std::string::npos) << missing.errors;
}

TEST_F(ConversationsCommand, ExportsAndImports) {
    const std::string out = (folder_ / "out.json").string();
    EXPECT_EQ(run({"export", "--all", "-o", out}).exit_code, 0);
    EXPECT_EQ(run({"export", std::to_string(id_), "-o", (folder_ / "out.md").string(), "--markdown"}).exit_code, 0);
    EXPECT_NE(test::file_text(folder_ / "out.md").value_or("").find("By the sea."), std::string::npos);
    EXPECT_EQ(run({"export", "-o", out}).exit_code, 2) << "neither numbers nor --all";
    EXPECT_NE(run({"export", std::to_string(id_), "--all", "-o", out}).errors.find("Both"), std::string::npos);
    EXPECT_EQ(run({"export", "--all", "-o", (folder_ / "out.md").string()}).exit_code, 2) << "would overwrite";
    EXPECT_EQ(run({"export", "--all", "-o", "-"}).output, test::file_text(folder_ / "out.json").value_or("missing"));
    EXPECT_EQ(run({"export", "--all", "-o", "-", "--json"}).exit_code, 2) << "two results for one output";
    const json ids = run_json({"import", out})["ids"];
    ASSERT_EQ(ids.size(), 1u);
    EXPECT_EQ(run_json({"list"})["conversations"].size(), 2u);
    std::ofstream(folder_ / "bad.json") << "{]";
    EXPECT_EQ(run({"import", (folder_ / "bad.json").string()}).exit_code, 2);
}

TEST_F(ConversationsCommand, DeletesAndRestores) {
    const ProcessResult deleted = run({"delete", std::to_string(id_)});
    EXPECT_EQ(deleted.exit_code, 0);
    EXPECT_NE(deleted.output.find("Where is the 灯塔"), std::string::npos) << deleted.output;
    EXPECT_NE(deleted.output.find("in the trash for"), std::string::npos) << deleted.output;
    EXPECT_TRUE(run_json({"list"})["conversations"].empty());
    EXPECT_EQ(run_json({"list", "--trash"})["conversations"].size(), 1u);
    EXPECT_NE(run({"restore", std::to_string(id_)}).output.find("back in the list"), std::string::npos);
    EXPECT_EQ(run_json({"list"})["conversations"].size(), 1u);
    EXPECT_EQ(run_json({"delete", std::to_string(id_)}), (json{{"ids", {id_}}}));
    EXPECT_EQ(run_json({"restore", std::to_string(id_)}), (json{{"ids", {id_}}}));
}

TEST_F(ConversationsCommand, DeletesNothingWhereOneIsMissing) {
    const ProcessResult refused = run({"delete", std::to_string(id_), "999"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.errors.find("no conversation 999"), std::string::npos) << refused.errors;
    EXPECT_EQ(run_json({"list"})["conversations"].size(), 1u);
}

TEST_F(ConversationsCommand, OverwritesNothingButJson) {
    const std::filesystem::path notes = folder_ / "notes.txt";
    std::ofstream(notes) << "my notes";
    const std::string id = std::to_string(id_);
    const std::string out = (folder_ / "out.json").string();
    for (const std::vector<std::string>& subcommand : std::vector<std::vector<std::string>>{
             {"list"}, {"search", "sea"}, {"show", id}, {"export", "--all", "-o", out}, {"delete", id}}) {
        std::vector<std::string> arguments = subcommand;
        arguments.insert(arguments.end(), {"--json", notes.string()});
        EXPECT_EQ(run(arguments).exit_code, 2) << subcommand[0];
        EXPECT_EQ(test::file_text(notes), "my notes") << subcommand[0];
    }
    EXPECT_FALSE(std::filesystem::exists(out)) << "refused before the work";
    EXPECT_EQ(run_json({"list"})["conversations"].size(), 1u);
}

// An unreadable file never looks like one without conversations.
TEST_F(ConversationsCommand, SaysWhatIsWrongWithAFileThatCannotBeRead) {
    const std::string whole = test::file_text(file_).value_or("");
    const auto expect_refused = [&](const std::string& words) {
        const ProcessResult result = run({"list"});
        EXPECT_EQ(result.exit_code, 2) << words;
        EXPECT_EQ(result.output, "") << words;
        EXPECT_NE(result.errors.find(words), std::string::npos) << result.errors;
    };
    const auto replace_by = [&](const std::string& bytes) { std::ofstream(file_, std::ios::binary) << bytes; };
    std::string scratched = whole;
    scratched.replace(100, 4000, 4000, '\xa5');
    replace_by(scratched);
    expect_refused("saves what can be read");
    replace_by(whole.substr(0, 5000));
    expect_refused("saves what can be read");
    replace_by(std::string(whole.size(), '\0'));
    expect_refused("saves what can be read");
    replace_by("These are notes.\n");
    expect_refused("no file of conversations");
    replace_by("");
    expect_refused("another version");
    std::filesystem::remove(file_);
    expect_refused("There is no file");
    EXPECT_EQ(run({"delete", "1"}).exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(file_));
    std::filesystem::create_directory(file_);
    expect_refused("is a folder");
}

TEST_F(ConversationsCommand, ReadsButDoesNotWriteBesideAnotherInstance) {
    const std::unique_ptr<Store> other = open_store(file_);
    EXPECT_EQ(run_json({"list"})["conversations"].size(), 1u);
    const ProcessResult refused = run({"delete", std::to_string(id_)});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.errors.find("Another Octavo"), std::string::npos) << refused.errors;
}

}  // namespace
}  // namespace octavo
