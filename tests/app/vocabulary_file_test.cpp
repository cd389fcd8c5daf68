// The program on files that are about text: a vocabulary without weights, templates with tools, recommended sampling.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/byte_vocabulary.h"
#include "tests/support/paths.h"
#include "tests/support/process_platform.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_files.h"

namespace octavo {
namespace {

using nlohmann::json;

ProcessResult octavo(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {OCTAVO_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_process(command, "", std::chrono::seconds(30));
}

// A vocabulary with the template of a family, and no weights.
class VocabularyFile : public testing::Test {
  protected:
    std::string write(const std::string& chat_template) const {
        test::GgufWriter file;
        test::plain_bytes().write(file);
        file.u32("tokenizer.ggml.eos_token_id", 258);
        file.text("tokenizer.chat_template", chat_template);
        return save("vocabulary.gguf", file.finish());
    }
    std::string save(const std::string& name, const std::vector<std::byte>& bytes) const {
        return save(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    std::string save(const std::string& name, const std::string& bytes) const {
        std::ofstream(folder_ / name, std::ios::binary) << bytes;
        return (folder_ / name).string();
    }

    TemporaryFolder folder_;
};

TEST_F(VocabularyFile, TokenizesBothWays) {
    const std::string file = write("");
    EXPECT_EQ(octavo({"tokenize", "-m", file, "--text", "<|im_end|>a e\u0301"}).output, "258, 97, 32, 195, 169\n");
    const ProcessResult typed = octavo({"tokenize", "-m", file, "--special-as-text", "--text", "<think>"});
    EXPECT_EQ(typed.output, "60, 116, 104, 105, 110, 107, 62\n") << typed.errors;
    EXPECT_EQ(octavo({"tokenize", "-m", file, "--decode", "97,195,169,195"}).output, "a\u00e9\uFFFD\n");
    EXPECT_EQ(octavo({"chat", "-m", file, "-p", "x"}).exit_code, 2) << "it has no weights";
}

TEST_F(VocabularyFile, RendersToolsAsTheFamilysTemplateDoes) {
    const auto fixture = nlohmann::ordered_json::parse(test::fixture_text("chat/chat_templates.json"));
    int rendered = 0;
    for (const auto& dialect : fixture["dialects"]) {
        const std::string file = write(dialect["template"]);
        for (size_t i = 0; i < fixture["conversations"].size(); ++i) {
            const auto& conversation = fixture["conversations"][i];
            if (conversation["name"] != "argument types" && conversation["name"] != "second system message") continue;
            std::vector<std::string> command = {"render", "-m", file, "--messages",
                                                save("messages.json", conversation["messages"].dump())};
            if (conversation["tools"].is_array()) {
                command.emplace_back("--tools");
                command.push_back(save("tools.json", conversation["tools"].dump()));
            }
            const ProcessResult result = octavo(command);
            const auto& expected = dialect["expected"][i];
            SCOPED_TRACE(dialect["name"].get<std::string>() + ", " + conversation["name"].get<std::string>());
            if (expected.contains("prompt")) {
                EXPECT_EQ(result.output, expected["prompt"].get<std::string>()) << result.errors;
            } else {
                EXPECT_EQ(result.exit_code, 2);
                EXPECT_NE(result.errors.find(expected["error"].get<std::string>()), std::string::npos) << result.errors;
            }
            ++rendered;
        }
    }
    EXPECT_EQ(rendered, 12);
}

// A checkpoint folder with everything that is published beside the weights.
TEST_F(VocabularyFile, AFoldersSamplingIsTheDefaultAndShown) {
    const std::filesystem::path model = folder_ / "model";
    std::filesystem::copy(test::fixture_path("checkpoints/hf-qwen35moe"), model);
    std::filesystem::permissions(model, std::filesystem::perms::owner_all);
    save("model/tokenizer.json", test::plain_bytes().tokenizer_json());
    save("model/generation_config.json", R"({"eos_token_id": [258, 256], "temperature": 0.5, "top_k": 20})");
    const auto sampling = [&](std::vector<std::string> more) {
        std::vector<std::string> command = {"chat", "-m", model.string(), "-p", "x", "-n", "2", "--json", "-"};
        command.insert(command.end(), more.begin(), more.end());
        const ProcessResult result = octavo(command);
        EXPECT_EQ(result.exit_code, 0) << result.errors;
        EXPECT_NE(result.errors.find("the model file recommends temperature 0.5, top-k 20"), std::string::npos)
            << result.errors;
        return json::parse(result.output, nullptr, false)["sampling"];
    };
    const json recommended = sampling({});
    EXPECT_EQ(recommended["temperature"], 0.5);
    EXPECT_EQ(recommended["top_k"], 20);
    EXPECT_EQ(recommended["from_model_file"], true);
    const json chosen = sampling({"--temp", "0"});
    EXPECT_EQ(chosen["temperature"], 0);
    EXPECT_EQ(chosen["top_k"], 20);
}

TEST_F(VocabularyFile, SaysThatChatMlStandsInForAnUnknownTemplate) {
    const std::string messages = save("messages.json", R"([{"role": "user", "content": "q"}])");
    const ProcessResult result = octavo({"render", "-m", write("[INST]{{ q }}[/INST]"), "--messages", messages});
    EXPECT_EQ(result.output, "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_NE(result.errors.find("plain ChatML stands in"), std::string::npos) << result.errors;
}

}  // namespace
}  // namespace octavo
