// `octavo chat` from outside: scripts of several turns, reuse of what was read, piped input.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process_platform.h"

namespace octavo {
namespace {

using nlohmann::json;

ProcessResult chat(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {OCTAVO_PROGRAM, "chat"});
    return run_process(arguments, input);
}

// About `lines` * 20 tokens, with two facts in it.
std::string document_file(int lines) {
    const auto path = std::filesystem::path(testing::TempDir()) / "octavo_chat_test_document.txt";
    std::ofstream out(path);
    for (int i = 0; i < lines; ++i) {
        if (i == lines / 3) out << "The access code of the lighthouse is QUARTZ-DELTA-8813.\n";
        if (i == lines / 2) out << "The magic number for Orla is 4823901.\n";
        out << "Entry " << i << ": the harbour was quiet and the boats came home before the evening.\n";
    }
    return path.string();
}

json json_of(const ProcessResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    json parsed = json::parse(result.output, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << result.output;
    return parsed;
}

const char* const kLighthouse = "What is the access code of the lighthouse?";
const char* const kOrla = "What is the magic number for Orla?";

TEST(Chat, AnswersFromADocument) {
    const ProcessResult result = chat({"-f", document_file(60), "-p", kLighthouse});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.output.find("QUARTZ-DELTA-8813"), std::string::npos) << result.output;
    EXPECT_NE(result.output.front(), ' ');
    EXPECT_NE(result.errors.find("reused 0 of"), std::string::npos) << result.errors;
    EXPECT_EQ(result.output.find('\x1b'), std::string::npos) << "escape codes without a terminal";
}

TEST(Chat, JsonHasTheFieldsAndTheTurns) {
    const json reply =
        json_of(chat({"-f", document_file(60), "-p", kLighthouse, "-p", kOrla, "-p", "/regen", "--json", "-"}));
    for (const char* field :
         {"text", "ids", "prompt_tokens", "reused_tokens", "prefilled_tokens", "prefill_tokens_per_s",
          "decode_tokens_per_s", "scheme", "window", "sinks", "device", "turns"})
        EXPECT_TRUE(reply.contains(field)) << field;
    ASSERT_EQ(reply["turns"].size(), 3u);
    EXPECT_EQ(reply["turns"][0]["reused_tokens"], 0);
    EXPECT_LT(reply["turns"][1]["prefilled_tokens"], 200);
    EXPECT_GE(reply["turns"][1]["reused_tokens"], reply["turns"][0]["prompt_tokens"]);
    EXPECT_LT(reply["turns"][2]["prefilled_tokens"], 200);
    EXPECT_EQ(reply["turns"][2]["ids"], reply["turns"][1]["ids"]) << "greedy";
    EXPECT_EQ(reply["text"], reply["turns"][2]["text"]);
    EXPECT_NE(reply["text"].get<std::string>().find("4823901"), std::string::npos) << reply["text"];
    for (const json& turn : reply["turns"])
        EXPECT_EQ(turn["reused_tokens"].get<int>() + turn["prefilled_tokens"].get<int>(),
                  turn["prompt_tokens"].get<int>());
}

TEST(Chat, EditKeepsWhatCameBefore) {
    const std::string edit = std::string("/edit 2 ") + kLighthouse;
    const json reply = json_of(chat({"-f", document_file(60), "-p", kOrla, "-p", kOrla, "-p", edit, "--json"}));
    EXPECT_GE(reply["reused_tokens"], reply["turns"][0]["prompt_tokens"]);
    EXPECT_NE(reply["text"].get<std::string>().find("QUARTZ-DELTA-8813"), std::string::npos) << reply["text"];
}

TEST(Chat, SameSeedSameReply) {
    const std::vector<std::string> sampled = {
        "-p", "Tell me about yourself.", "--temp", "5", "-n", "24", "--seed", "7", "--json"};
    EXPECT_EQ(json_of(chat(sampled))["ids"], json_of(chat(sampled))["ids"]);
    std::vector<std::string> other = sampled;
    other[7] = "8";
    EXPECT_NE(json_of(chat(other))["ids"], json_of(chat(sampled))["ids"]);
}

TEST(Chat, LengthAndIdsAreAsAsked) {
    const json reply = json_of(chat({"-p", "Tell me about yourself.", "-n", "3", "--json"}));
    EXPECT_EQ(reply["ids"].size(), 3u);
    EXPECT_EQ(reply["stop"], "max_tokens");
    const ProcessResult plain = chat({"-p", "Tell me about yourself.", "-n", "3", "--ids"});
    std::string list;
    for (const json& id : reply["ids"]) list += (list.empty() ? "" : ", ") + id.dump();
    EXPECT_NE(plain.output.find(list + "\n"), std::string::npos) << plain.output;
}

TEST(Chat, TextThatLooksLikeOptionsIsText) {
    EXPECT_EQ(chat({"-p", "--no-think", "-n", "1"}).exit_code, 0);
    EXPECT_EQ(chat({"-p", "[a, b]", "-n", "1"}).exit_code, 0);
    EXPECT_EQ(chat({"-p", "//not a command", "-n", "1"}).exit_code, 0);
    const json reply = json_of(chat({"-p", "[a,b]", "-n", "1", "--json"}));
    EXPECT_EQ(reply["turns"].size(), 1u);
}

TEST(Chat, FullContextIsRefusedWithNumbers) {
    const ProcessResult result = chat({"-f", document_file(60), "-p", kOrla, "--ctx", "256"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_NE(result.errors.find("256"), std::string::npos) << result.errors;
}

TEST(Chat, PipedLinesAreMessages) {
    const std::string input =
        "\"\"\"\nThe access code of the lighthouse is QUARTZ-DELTA-8813.\nThe magic number for Orla is 4823901.\n"
        "What is the access code of the lighthouse?\n\"\"\"\n\nWhat is the magic number for Orla?\n/stats\n/quit\nnot "
        "reached\n";
    const ProcessResult result = chat({}, input);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const size_t first = result.output.find("QUARTZ-DELTA-8813");
    ASSERT_NE(first, std::string::npos) << result.output;
    EXPECT_NE(result.output.find("4823901", first), std::string::npos) << result.output;
    EXPECT_NE(result.errors.find("4 messages"), std::string::npos) << result.errors;
}

TEST(Chat, SavedConversationRendersAgain) {
    const auto saved = std::filesystem::path(testing::TempDir()) / "octavo_chat_test_saved.json";
    std::filesystem::remove(saved);
    const ProcessResult result = chat({"--system", "Be brief.", "-p", "Hello.", "-p", "/save " + saved.string()});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const ProcessResult rendered = run_process({OCTAVO_PROGRAM, "render", "--messages", saved.string()});
    EXPECT_EQ(rendered.exit_code, 0) << rendered.errors;
    EXPECT_EQ(rendered.output.find("<|im_start|>system\nBe brief."), 0u) << rendered.output;
}

TEST(Chat, EmptyInputEndsQuietly) { EXPECT_EQ(chat({}, "").exit_code, 0); }

TEST(Chat, JsonWithoutAQuestionIsRefused) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"--json"}, {"--json", "-p", "/stats"}}) {
        const ProcessResult result = chat(arguments, "\n\n");
        EXPECT_EQ(result.exit_code, 2);
        EXPECT_EQ(result.output, "");
        EXPECT_NE(result.errors.find("Nothing was asked"), std::string::npos) << result.errors;
    }
}

TEST(Chat, EditKeepsTheDocumentAndReadsOnlyTheQuestion) {
    const std::string edit = std::string("/edit 1 ") + kLighthouse;
    const std::string document = document_file(60);
    const json given = json_of(chat({"-f", document, "-p", kOrla, "-p", edit, "--json"}));
    EXPECT_NE(given["text"].get<std::string>().find("QUARTZ-DELTA-8813"), std::string::npos) << given["text"];
    EXPECT_LT(given["prefilled_tokens"], 50);
    EXPECT_GT(given["reused_tokens"], 600);
    const json attached = json_of(
        chat({"-p", "Hello.", "-p", "/file " + document, "-p", kOrla, "-p", "/edit 2 " + edit.substr(8), "--json"}));
    EXPECT_NE(attached["text"].get<std::string>().find("QUARTZ-DELTA-8813"), std::string::npos) << attached["text"];
    EXPECT_LT(attached["prefilled_tokens"], 50);
    // A document alone is the message; what is typed later goes after it.
    const json alone = json_of(chat({"-f", document, "-p", "", "-p", edit, "-n", "24", "--json"}));
    EXPECT_EQ(alone["prompt_tokens"], given["prompt_tokens"]);
}

TEST(Chat, DocumentWaitsForTheFirstQuestion) {
    const json reply = json_of(chat({"-f", document_file(60), "-p", "/stats", "-p", kLighthouse, "--json"}));
    EXPECT_EQ(reply["turns"].size(), 1u);
    EXPECT_NE(reply["text"].get<std::string>().find("QUARTZ-DELTA-8813"), std::string::npos) << reply["text"];
}

TEST(Chat, FilesAreHeldAgainstTheContextOfNow) {
    const std::string file = "/file " + document_file(60);
    const ProcessResult refused = chat({"-p", "/ctx 300", "-p", file});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.errors.find("context's 300"), std::string::npos) << refused.errors;
    const ProcessResult dropped = chat({"-p", file, "-p", "/ctx 300", "-p", "/file -", "-p", "Hello.", "-n", "2"});
    EXPECT_EQ(dropped.exit_code, 0) << dropped.errors;
    EXPECT_NE(dropped.errors.find("tokens dropped"), std::string::npos) << dropped.errors;
}

TEST(Chat, ClearForgetsWhatTheEngineHolds) {
    const json reply = json_of(chat({"-p", "Hello.", "-p", "/clear", "-p", "Hello.", "-n", "2", "--json"}));
    EXPECT_EQ(reply["turns"].size(), 2u);
    EXPECT_EQ(reply["reused_tokens"], 0);
    const ProcessResult stats = chat({"-p", "Hello.", "-p", "/clear", "-p", "/stats", "-n", "2"});
    EXPECT_EQ(stats.errors.find("last reply"), std::string::npos) << stats.errors;
}

TEST(Chat, ContextOfNothingOrBelowTheWindowIsRefused) {
    EXPECT_EQ(chat({"--ctx", "0", "-p", "Hello."}).exit_code, 2);
    EXPECT_EQ(chat({"-p", "/ctx 0"}).exit_code, 2);
    const ProcessResult result = chat({"-p", "/kv q4_0 window=2k", "-p", "/ctx 1k"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.errors.find("2048"), std::string::npos) << result.errors;
    EXPECT_NE(result.errors.find("1024"), std::string::npos) << result.errors;
}

TEST(Chat, KvCommandTakesEverySetting) {
    const ProcessResult result = chat({"-p", "/kv q4_0 encoder=reference"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_NE(result.errors.find("reference encoder"), std::string::npos) << result.errors;
    EXPECT_NE(chat({"-p", "/kv nothing=1"}).errors.find("encoder=refined|reference"), std::string::npos);
    const std::string schemes = chat({"-p", "/kv nothing"}).errors;
    EXPECT_NE(schemes.find("q2t"), std::string::npos) << schemes;
}

TEST(Chat, TextThatIsNotUtf8IsRefusedWithThePlace) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"-p", "ab\xff"}, {"-p", "Hello.", "--system", "ab\xff"}, {}}) {
        const ProcessResult result = chat(arguments, "ab\xff\n");
        EXPECT_EQ(result.exit_code, 2) << result.errors;
        EXPECT_EQ(result.output, "");
        EXPECT_NE(result.errors.find("byte 2 is not text"), std::string::npos) << result.errors;
    }
}

TEST(Chat, BlocksAreNeverCommands) {
    const ProcessResult block = chat({"-n", "2"}, "\"\"\"\n/quit\n\"\"\"\n/stats\n");
    EXPECT_EQ(block.exit_code, 0) << block.errors;
    EXPECT_NE(block.errors.find("2 messages"), std::string::npos) << block.errors;
    const ProcessResult unknown = chat({}, "/quitting\n");
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_NE(unknown.errors.find("no command '/quitting'"), std::string::npos) << unknown.errors;
}

TEST(Chat, SaveOverwritesOnlyConversations) {
    const auto path = std::filesystem::path(testing::TempDir()) / "octavo_chat_test_target.json";
    const auto write = [&](const char* text) { std::ofstream(path) << text; };
    const auto read = [&] { return std::string(std::istreambuf_iterator<char>(std::ifstream(path).rdbuf()), {}); };
    const std::string save = "/save " + path.string();
    write("{\"settings\": 1}");
    EXPECT_EQ(chat({"-p", "Hello.", "-n", "2", "-p", save}).exit_code, 2);
    EXPECT_EQ(read(), "{\"settings\": 1}");
    write("{\"messages\": []}");
    EXPECT_EQ(chat({"-p", save}).exit_code, 2) << "nothing was said";
    EXPECT_EQ(chat({"--system", "Be brief.", "-p", save}).exit_code, 2) << "nothing was said";
    EXPECT_EQ(read(), "{\"messages\": []}");
    EXPECT_EQ(chat({"-p", "Hello.", "-n", "2", "-p", save, "-p", save}).exit_code, 0);
    EXPECT_NE(read().find("Hello."), std::string::npos);
}

// The size that the program is made for: a document of about 16K tokens.
TEST(ChatFull, LongDocumentIsReadOnce) {
    const json reply =
        json_of(chat({"-f", document_file(620), "-p", kLighthouse, "-p", kOrla, "-p", "/regen", "--json", "-"}));
    ASSERT_EQ(reply["turns"].size(), 3u);
    EXPECT_GT(reply["turns"][0]["prompt_tokens"], 14000);
    EXPECT_NE(reply["turns"][0]["text"].get<std::string>().find("QUARTZ-DELTA-8813"), std::string::npos);
    for (const size_t turn : {1u, 2u}) {
        EXPECT_LT(reply["turns"][turn]["prefilled_tokens"], 200);
        EXPECT_NE(reply["turns"][turn]["text"].get<std::string>().find("4823901"), std::string::npos);
    }
}

}  // namespace
}  // namespace octavo
