// The bundled model through the engine: real tokenizer, template and weights.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/bundled/bundled.h"
#include "runtime/engine.h"

namespace octavo {
namespace {

GenerationReport ask(Engine& engine, const std::vector<Message>& messages) {
    GenerateRequest request;
    request.conversation = "pocket";
    request.prompt = ChatPrompt{messages};
    request.sampler.temperature = 0;
    request.max_tokens = 40;
    const auto generation = engine.generate(std::move(request));
    const Result<GenerationReport>& report = generation->report();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : GenerationReport{};
}

TEST(Pocket, AnswersFromADocumentAndNeverReadsItTwice) {
    Result<std::shared_ptr<const Model>> model = open_model(bundled_model(), "bundled");
    ASSERT_TRUE(model) << model.error().message;
    Result<std::unique_ptr<Engine>> engine = Engine::create(*model, {{DeviceChoice::cpu}, {}});
    ASSERT_TRUE(engine) << engine.error().message;

    std::string document = "Here is a document.\n";
    for (int i = 0; i < 30; ++i) {
        document += "The river was calm that morning, and the people of the village went to work in the fields. ";
        if (i == 12) document += "The access code of the lighthouse is QUARTZ-DELTA-8813. ";
    }
    std::vector<Message> messages = {
        {.role = Role::user, .content = document + "\nWhat is the access code of the lighthouse?"}};
    const GenerationReport first = ask(**engine, messages);
    EXPECT_EQ(first.stop, StopReason::end_of_turn);
    EXPECT_EQ(first.prefilled_tokens, first.prompt_tokens);
    EXPECT_NE(first.text.find("QUARTZ-DELTA-8813"), std::string::npos) << first.text;
    ASSERT_FALSE(first.text.empty());
    EXPECT_NE(first.text.front(), ' ');

    const GenerationReport again = ask(**engine, messages);
    EXPECT_EQ(again.prefilled_tokens, 0);
    EXPECT_EQ(again.ids, first.ids);

    messages.push_back({.role = Role::assistant, .content = first.text, .ids = first.ids});
    messages.push_back({.role = Role::user, .content = "What is the access code of the harbour?"});
    const GenerationReport second = ask(**engine, messages);
    EXPECT_EQ(second.reused_tokens, first.prompt_tokens + std::ssize(first.ids)) << "the reply is not read again";
    EXPECT_LT(second.prefilled_tokens, 40);

    messages.back().content = "What is the access code of the mill?";
    const GenerationReport edited = ask(**engine, messages);
    EXPECT_GE(edited.reused_tokens, first.prompt_tokens + std::ssize(first.ids));
    EXPECT_LT(edited.prefilled_tokens, 40);
}

}  // namespace
}  // namespace octavo
