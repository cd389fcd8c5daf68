// The program from outside, on the bundled model: options, JSON, exit codes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process_platform.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

ProcessResult octavo(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), OCTAVO_PROGRAM);
    return run_process(arguments, input);
}

std::string temporary_file(const std::string& name, const std::string& content = "") {
    const fs::path path = fs::path(testing::TempDir()) / ("octavo_command_test_" + name);
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
}

// Standard output must be JSON and nothing else.
json json_of(const ProcessResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    json parsed = json::parse(result.output, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << result.output;
    return parsed;
}

TEST(Command, HelpNamesTheCommands) {
    const ProcessResult help = octavo({"--help"});
    EXPECT_EQ(help.exit_code, 0);
    for (const char* name :
         {"chat", "bench", "fidelity", "kv-error", "memory", "inspect", "tokenize", "render", "logits", "--test"})
        EXPECT_NE(help.output.find(name), std::string::npos) << name;
    EXPECT_EQ(octavo({"chat", "--help"}).exit_code, 0);
    EXPECT_EQ(octavo({"--version"}).exit_code, 0);
}

TEST(Command, BadUsageIsTold) {
    struct Case {
        std::vector<std::string> arguments;
        const char* names;  // what the complaint must contain
    };
    const Case cases[] = {
        {{"frob"}, "frob"},
        {{"recall", "--families", "sonnets"}, "sonnets"},
        {{"recall", "--kv", "q4_0,q99"}, "q99"},
        {{"recall", "--lengths", "0"}, "0 tokens"},
        {{"recall", "--lengths", "512", "--kv-window", "0"}, "plant fewer needles"},
        {{"recall", "--lengths", "512", "--kv-window", "1k"}, "1024"},
        {{"recall", "--haystack", "file"}, "-f FILE"},
        {{"recall", "--resume"}, "--json"},
        {{"recall", "--max-kl", "nan"}, "nan"},
        {{"--screenshot", "/no/such/folder/x.png", "--scale", "nan"}, "nan"},
        {{"chat", "--no-such-option"}, "--no-such-option"},
        {{"chat", "-p", "x", "--kv", "q99"}, "q99"},
        {{"chat", "-p", "x", "--kv-window", "4"}, "window (4"},
        {{"chat", "-p", "x", "--kv-sinks", "1k"}, "sinks (1024)"},
        {{"chat", "-p", "x", "--kv", "q4_0", "--ctx", "100", "--kv-window", "200"}, "200"},
        {{"chat", "-p", "x", "--ctx", "12parsecs"}, "12parsecs"},
        {{"chat", "-p", "x", "--ctx", "99999k"}, "262"},
        {{"chat", "-p", "x", "--device", "abacus"}, "abacus"},
        {{"chat", "-p", "x", "--temp", "-1"}, "emperature"},
        {{"chat", "-p", "x", "-n", "0"}, "-n"},
        {{"chat", "-p", "/nonsense"}, "/nonsense"},
        {{"chat", "-p", "/regen"}, "reply"},
        {{"chat", "-p", "/ctx"}, "how many tokens"},
        {{"chat", "-f", "/no/such/file"}, "/no/such/file"},
        {{"chat", "-m", "/no/such/model.gguf", "-p", "x"}, "/no/such/model.gguf"},
        {{"logits", "--ids", "1,2", "--text", "x", "-o", "x.npy"}, "ids"},
        {{"logits", "--ids", "1,2"}, "-o"},
        {{"logits", "--ids", "1,99999", "-o", "/dev/null"}, "99999"},
        {{"logits", "--ids", "1,2", "--split", "3", "-o", "/dev/null"}, "--split"},
        {{"logits", "--ids", "1,2", "--split", "", "-o", "/dev/null"}, "the list of sizes is empty"},
        {{"logits", "--text", "a\xff", "-o", "/dev/null"}, "not UTF-8 text"},
        {{"tokenize", "--text", "a\xff"}, "not UTF-8 text"},
        {{"fidelity", "--kv", "q8_0", "q99"}, "q99"},
        {{"fidelity", "--reference", "q99"}, "q99"},
        {{"fidelity", "--kv", "q8_0", "--kv-window", "999k"}, "262144"},
        {{"fidelity", "-f", "/no/such/file"}, "/no/such/file"},
        {{"kv-error", "--k", "/no/such/file"}, "--v"},
        {{"kv-error", "--k", "/no/such/k", "--v", "/no/such/v"}, "/no/such/k"},
        {{"kv-error", "--rotate", "sideways"}, "sideways"},
        {{"logits", "--ids", "1,,2", "-o", "/dev/null"}, "place 2"},
        {{"logits", "--ids", "1,2", "--last", "5", "-o", "/dev/null"}, "only 2 tokens"},
        {{"logits", "--ids", "1,2", "-o", "-"}, "name a file"},
        {{"logits", "--text", "", "-o", "/dev/null"}, "the text is empty"},
        {{"logits", "--ids-file", "/dev/zero", "-o", "/dev/null"}, "/dev/zero"},
        {{"chat", "-m", "", "-p", "x"}, "-m"},
        {{"tokenize", "--model", "", "--text", "x"}, "-m"},
        {{"inspect", ""}, "empty"},
        {{"chat", "-f", "/dev/zero"}, "/dev/zero"},
        {{"tokenize", "--text", "x", "--json", "/no/such/folder/x.json"}, "/no/such/folder/x.json"},
        {{"--test", "--json", "/"}, "folder"},
        {{"chat", "--resume", "0"}, "'0' is no whole number from 1 on"},
        {{"chat", "-p", "x", "--seed", "99999999999999999999"}, "99999999999999999999 is too large"},
        {{"conversations", "show", "99999999999999999999"}, "99999999999999999999 is too large"},
        {{"chat", "--resume", "010"}, "no conversation 10"},
        {{"logits", "--ids", "1", "-o", "--json"}, "'--json' stands where a file is named"},
        {{"recall", "--lengths", "512", "--kv", "q4_0"}, "the shortest text has 512"},
        {{"tokenize"}, ""},
        {{"tokenize", "--decode", "1,abc"}, "abc"},
        {{"render", "--messages", "/no/such/file"}, "/no/such/file"},
        {{"inspect", "--tensor", "x"}, "--tensor"},
        {{"--test", "--frob"}, "--frob"},
    };
    for (const Case& c : cases) {
        const ProcessResult result = octavo(c.arguments);
        EXPECT_EQ(result.exit_code, 2) << c.arguments.back();
        EXPECT_NE(result.errors.find(c.names), std::string::npos) << c.arguments.back() << ": " << result.errors;
        EXPECT_EQ(result.output, "") << c.arguments.back();
    }
}

TEST(Command, JsonNeverOverwritesAModel) {
    const std::string model = temporary_file("precious.gguf", "GGUF precious");
    const ProcessResult result = octavo({"tokenize", "--text", "x", "--json", model});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(fs::file_size(model), 13u);
}

// What a shell does with the program.
ProcessResult in_shell(const std::string& script) {
    return run_process({"/bin/sh", "-c", script, OCTAVO_PROGRAM}, "", std::chrono::seconds(30));
}

TEST(Command, UnwrittenOutputIsAFailure) {
    for (const char* script :
         {"\"$0\" tokenize --text hi >/dev/full", "\"$0\" tokenize --text hi --json - >/dev/full",
          "\"$0\" tokenize --text hi >&-", "\"$0\" chat -p hi -n 2 --json - >/dev/full", "\"$0\" --help >/dev/full"}) {
        const ProcessResult result = in_shell(script);
        EXPECT_EQ(result.exit_code, 2) << script;
        EXPECT_NE(result.errors.find("standard output"), std::string::npos) << script << ": " << result.errors;
    }
}

TEST(Command, NamedPipesAreRefusedNotWaitedFor) {
    const std::string pipe = temporary_file("pipe");
    fs::remove(pipe);
    ASSERT_EQ(in_shell("mkfifo '" + pipe + "'").exit_code, 0);
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"inspect", pipe}, {"tokenize", "-f", pipe}, {"render", "--messages", pipe}}) {
        const ProcessResult result = octavo(arguments);
        EXPECT_EQ(result.exit_code, 2) << arguments[0];
        EXPECT_NE(result.errors.find(pipe), std::string::npos) << result.errors;
    }
    fs::remove(pipe);
}

TEST(Command, ErrorsNameTheFileOnceAndEndOnce) {
    for (const std::string command : {"inspect", "chat"}) {
        std::vector<std::string> arguments = {command, "-m", "/no/such/model.gguf"};
        const std::string errors = octavo(arguments).errors;
        EXPECT_EQ(errors.find("/no/such/model.gguf"), errors.rfind("/no/such/model.gguf")) << errors;
        EXPECT_EQ(errors.find(".."), std::string::npos) << errors;
    }
}

TEST(Command, TokenizeRoundTrips) {
    const std::string text = "The code is QUARTZ-DELTA-8813, 你好 🦉.";
    const json tokens = json_of(octavo({"tokenize", "--text", text, "--json", "-"}));
    ASSERT_FALSE(tokens["ids"].empty());
    EXPECT_EQ(tokens["tokens"], tokens["ids"].size());
    EXPECT_EQ(json_of(octavo({"tokenize", "--decode", tokens["ids"].dump(), "--json"}))["text"], text);
    EXPECT_EQ(octavo({"tokenize", "-f", "-"}, text).output, octavo({"tokenize", "--text", text}).output);
}

TEST(Command, TokenizeTellsMarkupFromText) {
    EXPECT_EQ(octavo({"tokenize", "--text", "<|im_start|>"}).output, "1\n");
    EXPECT_GT(json_of(octavo({"tokenize", "--text", "<|im_start|>", "--special-as-text", "--json"}))["ids"].size(), 1u);
}

TEST(Command, RenderGivesTheExactPrompt) {
    const std::string messages =
        temporary_file("messages.json", R"([{"role":"system","content":"S"},{"role":"user","content":"U"}])");
    const std::string prompt =
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n";
    EXPECT_EQ(octavo({"render", "--messages", messages}).output, prompt);
    EXPECT_EQ(json_of(octavo({"render", "--messages", messages, "--json"}))["prompt"], prompt);
}

TEST(Command, InspectDescribesTheModel) {
    const json contents = json_of(octavo({"inspect", "--json"}));
    EXPECT_EQ(contents["format"], "GGUF v3");
    EXPECT_TRUE(contents["supported"]);
    EXPECT_TRUE(contents["unsupported"].empty());
    EXPECT_EQ(contents["model"]["layers"], 8);
    EXPECT_EQ(contents["model"]["context_length"], 262144);
    EXPECT_GT(contents["tensors"].size(), 50u);
    EXPECT_GT(contents["metadata"].size(), 20u);
}

TEST(Command, InspectDecodesATensor) {
    const json contents = json_of(octavo({"inspect", "--json"}));
    const json& tensor = contents["tensors"][0];
    const std::string file = temporary_file("tensor.npy");
    const ProcessResult result = octavo({"inspect", "--tensor", tensor["name"], "-o", file});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    uintmax_t values = 1;
    for (const json& extent : tensor["shape"]) values *= extent.get<uintmax_t>();
    EXPECT_GT(fs::file_size(file), 4 * values);
    EXPECT_EQ(octavo({"inspect", "--tensor", "no.such.tensor", "-o", file}).exit_code, 2);
}

TEST(Command, InspectRefusesBrokenFiles) {
    const ProcessResult result =
        octavo({"inspect", temporary_file("broken.gguf", std::string("GGUF\x03\0\0\0\xff\xff", 10))});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.errors, "");
    EXPECT_EQ(result.output, "");
}

TEST(Command, MemoryPricesEveryScheme) {
    const json memory = json_of(octavo({"memory", "--json", "-"}));
    std::vector<std::string> names;
    for (const json& scheme : memory["schemes"]) {
        names.push_back(scheme["scheme"]);
        EXPECT_EQ(scheme["tokens_per_gib"].get<int64_t>(),
                  (int64_t{1} << 30) / scheme["bytes_per_token"].get<int64_t>());
        EXPECT_LE(scheme["max_context"], 262144);
        if (scheme["scheme"] == "bf16") {
            EXPECT_EQ(scheme["bytes_per_token"], 4096);
        }
    }
    EXPECT_NE(std::find(names.begin(), names.end(), "f16"), names.end());
    EXPECT_TRUE(memory["plan"][4]["budget"]) << memory["plan"][4];
    for (const char* field : {"line", "bytes", "where"}) EXPECT_TRUE(memory["plan"][0].contains(field)) << field;
}

TEST(Command, LogitsSplitOrWholeAgree) {
    const std::string whole = temporary_file("whole.npy");
    const std::string split = temporary_file("split.npy");
    const std::string ids = "1,300,301,302,303,304,305,306";
    const std::vector<std::string> common = {"logits", "--ids", ids, "--kv", "f32", "--kv-window", "0", "--json", "-"};
    auto with = [&common](std::vector<std::string> more) {
        more.insert(more.begin(), common.begin(), common.end());
        return more;
    };
    const json all = json_of(octavo(with({"-o", whole})));
    EXPECT_EQ(all["positions"], 8);
    EXPECT_EQ(all["argmax"].size(), 8u);
    const json parts = json_of(octavo(with({"-o", split, "--split", "1,2,3"})));
    EXPECT_EQ(parts["argmax"], all["argmax"]);
    EXPECT_EQ(fs::file_size(whole), fs::file_size(split));
    const json last = json_of(octavo(with({"-o", split, "--last", "2", "--split", "7"})));
    EXPECT_EQ(last["first_position"], 6);
    EXPECT_EQ(last["argmax"], (json{all["argmax"][6], all["argmax"][7]}));
}

TEST(Command, BenchReportsEveryDepth) {
    const json bench = json_of(octavo({"bench", "-p", "32", "-n", "8", "--depth", "0,64", "--repeat", "1", "--json"}));
    ASSERT_EQ(bench["runs"].size(), 2u);
    EXPECT_EQ(bench["runs"][1]["depth"], 64);
    for (const json& run : bench["runs"])
        for (const char* field : {"prefill_tokens_per_s", "decode_tokens_per_s", "gb_per_s", "bandwidth_share"})
            EXPECT_GT(run[field], 0) << field;
    EXPECT_GT(bench["read_bandwidth_gb_per_s"], 0);
}

TEST(Command, BenchGivesNoFigureForWhatIsNotMeasured) {
    const ProcessResult text = octavo({"bench", "-p", "0", "-n", "4", "--depth", "0", "--repeat", "1"});
    ASSERT_EQ(text.exit_code, 0) << text.errors;
    EXPECT_NE(text.output.find(" - "), std::string::npos) << text.output;
    EXPECT_EQ(text.output.find(" 0.0 "), std::string::npos) << text.output;
    const json run =
        json_of(octavo({"bench", "-p", "16", "-n", "0", "--depth", "0", "--repeat", "1", "--json"}))["runs"][0];
    EXPECT_GT(run["prefill_tokens_per_s"], 0);
    for (const char* field : {"decode_tokens_per_s", "bytes_per_decoded_token", "gb_per_s", "bandwidth_share"})
        EXPECT_TRUE(run[field].is_null()) << field;
}

TEST(Command, FidelitySaysWhereNothingWasPacked) {
    const auto run = [](const char* window, bool as_json) {
        std::vector<std::string> arguments = {"fidelity",    "--tokens", "128",        "--kv", "q2",
                                              "--kv-window", window,     "--kv-sinks", "0"};
        if (as_json) arguments.emplace_back("--json");
        return octavo(arguments);
    };
    EXPECT_NE(run("128", false).output.find("nothing of it was read packed"), std::string::npos);
    EXPECT_EQ(run("64", false).output.find("nothing of it was read packed"), std::string::npos);
    EXPECT_EQ(json_of(run("128", true))["rows"][0]["nothing_packed"], true);
    EXPECT_EQ(json_of(run("64", true))["rows"][0]["nothing_packed"], false);
}

TEST(Command, DefaultWindowsFitAShortContext) {
    const ProcessResult result =
        octavo({"fidelity", "--kv", "q4_0", "--reference", "q8_0", "--ctx", "256", "--tokens", "32", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(json::parse(result.output)["rows"][0]["window"], 256);
}

TEST(Command, FidelityComparesSettingsAndDumpsForKvError) {
    const std::string csv = temporary_file("fidelity.csv");
    const fs::path dump = fs::path(testing::TempDir()) / "octavo_command_test_dump";
    const json result = json_of(octavo({"fidelity", "--tokens", "200", "--kv", "f16 q4_0", "q2k", "--kv-window", "0",
                                        "64", "--csv", csv, "--dump", dump.string(), "--json", "-"}));
    ASSERT_EQ(result["rows"].size(), 5u) << "a raw scheme takes no window";
    EXPECT_EQ(result["rows"][0]["scheme"], "f16");
    EXPECT_EQ(result["rows"][0]["mean_kl"], 0);
    EXPECT_EQ(result["rows"][0]["top1"], 1);
    for (const json& row : result["rows"]) {
        for (const char* field : {"rotate", "equalise", "window", "median_kl", "kl_999", "perplexity"})
            EXPECT_TRUE(row.contains(field)) << field;
        EXPECT_EQ(row["positions"], 200);
        EXPECT_EQ(row["buckets"].size(), 4u);
    }
    EXPECT_LT(result["rows"][2]["mean_kl"], result["rows"][1]["mean_kl"]) << "a window helps";
    std::ifstream lines(csv);
    int count = 0;
    for (std::string line; std::getline(lines, line);) ++count;
    EXPECT_EQ(count, 1 + 5 * 5) << "all, and four quarters";

    const auto file = [&dump](const char* name) { return (dump / name).string(); };
    const json errors = json_of(octavo({"kv-error", "--k", file("layer4_k.npy"), "--v", file("layer4_v.npy"), "--q",
                                        file("layer4_q.npy"), "--kv", "f32 q8_0", "--outliers", "20", "--json", "-"}));
    ASSERT_EQ(errors["rows"].size(), 4u);
    EXPECT_EQ(errors["rows"][0]["rel_k"], 0);
    EXPECT_LT(errors["rows"][0]["attention_error"], 1e-5);
    EXPECT_EQ(errors["rows"][1]["k"], "q8_0");
    EXPECT_GT(errors["rows"][1]["attention_error"], 1e-3);
    EXPECT_LT(errors["rows"][1]["attention_error"], 0.02);
    EXPECT_NE(errors["rows"][3]["family"], errors["rows"][1]["family"]);

    const std::string broken = temporary_file("broken.npy", std::string("\x93NUMPY\x01\x00\x05\x00{'de'", 15));
    const ProcessResult refused = octavo({"kv-error", "--k", broken, "--v", broken});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.errors.find("broken.npy"), std::string::npos);
}

TEST(Command, SelfTestPasses) {
    const ProcessResult result = octavo({"--test"});
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const size_t last_line = result.output.rfind('\n', result.output.size() - 2);
    EXPECT_NE(result.output.find(" passed, 0 failed, ", last_line), std::string::npos) << result.output;
}

TEST(Command, TheKvSchemeChangesInTheMiddleOfAChat) {
    const std::string document =
        "The access code of the lighthouse is QUARTZ-DELTA-8813. The magic number for Orla is 4823901. ";
    const ProcessResult result = octavo({"chat",
                                         "--temp",
                                         "0",
                                         "--kv",
                                         "f16",
                                         "-p",
                                         document + "What is the access code of the lighthouse?",
                                         "-p",
                                         "/kv q8_0",
                                         "-p",
                                         "What is the magic number for Orla?",
                                         "-p",
                                         "/kv q4_0 window=64 sinks=8",
                                         "-p",
                                         "/regen",
                                         "-p",
                                         "/rebuild",
                                         "-p",
                                         "/ctx 4k",
                                         "-p",
                                         "/regen",
                                         "--json",
                                         "-"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const nlohmann::json turns = nlohmann::json::parse(result.output).at("turns");
    ASSERT_EQ(turns.size(), 4u);
    EXPECT_EQ(turns[0].at("scheme"), "f16");
    EXPECT_EQ(turns[1].at("scheme"), "q8_0");
    EXPECT_EQ(turns[1].at("window"), 1024);
    EXPECT_EQ(turns[1].at("text"), "4823901");
    EXPECT_LT(turns[1].at("prefilled_tokens").get<int>(), 40) << "the change made it read the text again";
    EXPECT_EQ(turns[2].at("scheme"), "q4_0");
    EXPECT_EQ(turns[2].at("window"), 64);
    EXPECT_EQ(turns[2].at("sinks"), 8);
    EXPECT_EQ(turns[2].at("text"), "4823901");
    EXPECT_EQ(turns[3].at("text"), "4823901");
}

}  // namespace
}  // namespace octavo
