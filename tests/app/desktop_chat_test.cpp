// Messages, replies, branches and drafts of the desktop, with a scripted engine and a real store.
#include "tests/app/desktop_fixture.h"

namespace octavo {
namespace {

using test::DesktopFixture;
using Texts = std::vector<std::string>;

class DesktopChat : public DesktopFixture {};

TEST_F(DesktopChat, BeginsWithTheBundledModelAndAWelcome) {
    start_with_model();
    ASSERT_EQ(engine_->loads.size(), 1u);
    EXPECT_EQ(engine_->loads[0].path, "");
    EXPECT_TRUE(look().welcome.shown);
    EXPECT_NE(look().welcome.machine.find("8.00 GiB"), std::string::npos) << look().welcome.machine;
    EXPECT_FALSE(look().welcome.example_name.empty());
    EXPECT_EQ(look().engine.phase, EnginePhase::idle);
}

TEST_F(DesktopChat, AMessageIsStoredBeforeTheEngineSeesIt) {
    start_with_model();
    act(action::SendMessage{"hello"});
    until([&] { return !engine_->replies.empty(); });
    const StoredConversation conversation = stored(look().conversations.selected);
    ASSERT_EQ(conversation.messages.size(), 2u);
    EXPECT_EQ(conversation.messages[0].text, "hello");
    EXPECT_EQ(conversation.messages[1].state, MessageState::streaming);
    ASSERT_EQ(engine_->replies[0].prompt.messages.size(), 1u);
    EXPECT_EQ(engine_->replies[0].prompt.messages[0].content, "hello");
    EXPECT_TRUE(look().composer.draft.empty());
}

TEST_F(DesktopChat, AReplyIsShownAndSavedWhileItComes) {
    start_with_model();
    send("hello");
    engine_->progress(GenerationPhase::prefill, 100, 400, 50);
    EXPECT_EQ(look().engine.phase, EnginePhase::prefilling);
    EXPECT_DOUBLE_EQ(look().engine.seconds_left, 6);
    EXPECT_EQ(look().transcript.messages[1]->phase, MessagePhase::prefilling);

    engine_->progress(GenerationPhase::decode, 400, 400, 20);
    engine_->stream(" Good");
    engine_->stream(" day");
    EXPECT_EQ(look().transcript.messages[1]->text, "Good day");
    EXPECT_EQ(look().transcript.messages[1]->phase, MessagePhase::writing);
    const int64_t id = look().conversations.selected;
    EXPECT_EQ(stored(id).messages[1].text, " Good day");  // anything posted later finds it written

    engine_->end_reply(" Good day!", 404);
    until([&] { return !look().transcript.messages[1]->busy(); });
    const MessageView& reply = *look().transcript.messages[1];
    EXPECT_EQ(reply.phase, MessagePhase::complete);
    ASSERT_TRUE(reply.figures);
    EXPECT_EQ(reply.figures->reused_tokens, 202);
    EXPECT_EQ(stored(id).messages[1].state, MessageState::complete);
    EXPECT_EQ(look().composer.held_tokens, 407);
}

TEST_F(DesktopChat, ThinkingHasItsTime) {
    start_with_model();
    send("hello");
    engine_->progress(GenerationPhase::decode, 4, 4, 20);
    engine_->stream("", "Let me see.");
    EXPECT_EQ(look().transcript.messages[1]->phase, MessagePhase::thinking);
    now_ms_ += 2500;
    engine_->stream("So.");
    EXPECT_EQ(look().transcript.messages[1]->phase, MessagePhase::writing);
    EXPECT_DOUBLE_EQ(look().transcript.messages[1]->thinking_seconds, 2.5);
    EXPECT_EQ(look().transcript.messages[1]->thinking, "Let me see.");
}

TEST_F(DesktopChat, StopKeepsWhatThereIs) {
    start_with_model();
    send("hello");
    engine_->stream("Half a");
    act(action::Stop{});
    EXPECT_EQ(engine_->stops, 1);
    EXPECT_TRUE(look().engine.stopping);
    engine_->end_reply("Half a", 4, StopReason::cancelled);
    until([&] { return look().transcript.messages[1]->phase == MessagePhase::stopped; });
    EXPECT_EQ(look().transcript.messages[1]->text, "Half a");
    EXPECT_EQ(look().engine.phase, EnginePhase::idle);
}

TEST_F(DesktopChat, AFailureIsSaidUnderTheReply) {
    start_with_model();
    send("hello");
    engine_->fail_reply({ErrorKind::memory, "Not enough memory for the KV cache: 2.00 GiB wanted, 1.00 GiB free."});
    until([&] { return look().transcript.messages[1]->phase == MessagePhase::failed; });
    EXPECT_NE(look().transcript.messages[1]->note.find("2.00 GiB wanted"), std::string::npos);
    act(action::RetryReply{look().transcript.messages[1]->id});
    until([&] { return engine_->replies.size() == 2; });
    EXPECT_EQ(look().transcript.messages[1]->siblings, 2);
}

TEST_F(DesktopChat, ARetriedReplyIsABranchWithAnotherSeed) {
    start_with_model();
    send_and_answer("hello", "one", 4);
    const int64_t first = look().transcript.messages[1]->id;
    act(action::RetryReply{first});
    until([&] { return engine_->replies.size() == 2; });
    EXPECT_NE(engine_->replies[0].sampler.seed, engine_->replies[1].sampler.seed);
    EXPECT_EQ(engine_->replies[1].prompt.messages.size(), 1u);
    engine_->end_reply("two", 4);
    until([&] { return texts() == Texts({"hello", "two"}); });
    EXPECT_EQ(look().transcript.messages[1]->sibling, 2);
    act(action::ShowSibling{look().transcript.messages[1]->id, 1});
    EXPECT_EQ(texts(), Texts({"hello", "one"}));
    const StoredConversation conversation = stored(look().conversations.selected);
    EXPECT_EQ(conversation.messages[0].shown_child_id, first);
}

TEST_F(DesktopChat, AnEditedMessageIsABranchToo) {
    start_with_model();
    send_and_answer("one", "a", 4);
    send_and_answer("two", "b", 8);
    act(action::DraftChanged{"a draft"});
    act(action::EditMessage{look().transcript.messages[0]->id});
    EXPECT_EQ(look().composer.draft, "one");
    EXPECT_NE(look().composer.editing_message, 0);
    send("one, but other");
    ASSERT_EQ(engine_->replies.back().prompt.messages.size(), 1u);
    EXPECT_EQ(engine_->replies.back().prompt.messages[0].content, "one, but other");
    engine_->end_reply("c", 5);
    until([&] { return texts() == Texts({"one, but other", "c"}); });
    act(action::ShowSibling{look().transcript.messages[0]->id, 1});
    EXPECT_EQ(texts(), Texts({"one", "a", "two", "b"}));
}

TEST_F(DesktopChat, ACancelledEditGivesTheDraftBack) {
    start_with_model();
    send_and_answer("one", "a", 4);
    act(action::DraftChanged{"a draft"});
    act(action::EditMessage{look().transcript.messages[0]->id});
    act(action::CancelEdit{});
    EXPECT_EQ(look().composer.draft, "a draft");
    EXPECT_EQ(look().composer.editing_message, 0);
}

TEST_F(DesktopChat, AnEditedReplyIsNotWrittenAgain) {
    start_with_model();
    send_and_answer("one", "a", 4);
    act(action::EditMessage{look().transcript.messages[1]->id});
    act(action::SendMessage{"what it should have said"});
    until([&] { return texts() == Texts({"one", "what it should have said"}); });
    EXPECT_EQ(engine_->replies.size(), 1u);
    send("two");
    EXPECT_EQ(engine_->replies.back().prompt.messages[1].content, "what it should have said");
}

TEST_F(DesktopChat, ADeletedMessageTakesWhatFollows) {
    start_with_model();
    send_and_answer("one", "a", 4);
    send_and_answer("two", "b", 8);
    act(action::DeleteMessage{look().transcript.messages[1]->id});
    EXPECT_EQ(texts(), Texts({"one"}));
    until([&] { return stored(look().conversations.selected).messages.size() == 1; });
}

TEST_F(DesktopChat, EverythingIsThereAfterARestart) {
    start_with_model();
    act(action::SetSampling{{.sampler = {.temperature = 0.3f, .seed = 18446744073709551615u},
                             .max_tokens = 77,
                             .thinking = false,
                             .system_prompt = "Be brief."}});
    send_and_answer("one", "a", 4);
    EXPECT_EQ(engine_->replies[0].prompt.messages[0].content, "Be brief.");
    act(action::DraftChanged{"to be continued"});
    restart();
    until([&] { return look().kv.available && texts().size() == 2; });
    EXPECT_EQ(texts(), Texts({"one", "a"}));
    EXPECT_EQ(look().composer.draft, "to be continued");
    EXPECT_FALSE(look().welcome.shown);
    const SamplingChoice& sampling = look().sampling.applied;
    EXPECT_FLOAT_EQ(sampling.sampler.temperature, 0.3f);
    EXPECT_EQ(sampling.sampler.seed, 18446744073709551615u);
    EXPECT_EQ(sampling.max_tokens, 77);
    EXPECT_FALSE(sampling.thinking);
    EXPECT_EQ(sampling.system_prompt, "Be brief.");
    EXPECT_EQ(look().conversations.items.size(), 1u);
}

TEST_F(DesktopChat, AReplyGoesOnInItsOwnConversation) {
    start_with_model();
    send("one");
    const int64_t first = look().conversations.selected;
    act(action::NewConversation{});
    EXPECT_TRUE(look().transcript.messages.empty());
    EXPECT_FALSE(look().composer.blocked_reason.empty());
    engine_->stream("a");
    engine_->end_reply("a b", 4);
    until([&] { return look().engine.phase == EnginePhase::idle; });
    act(action::OpenConversation{first});
    until([&] { return texts() == Texts({"one", "a b"}); });
}

TEST_F(DesktopChat, SettingsAreThoseOfEachConversation) {
    start_with_model();
    SamplingChoice choice = look().sampling.applied;
    choice.system_prompt = "First.";
    act(action::SetSampling{choice});
    send_and_answer("one", "a", 4);
    const int64_t first = look().conversations.selected;
    act(action::NewConversation{});
    until([&] { return look().sampling.applied.system_prompt.empty(); });
    act(action::OpenConversation{first});
    until([&] { return look().sampling.applied.system_prompt == "First."; });
}

TEST_F(DesktopChat, AMessageThatDoesNotFitComesBackWithNumbers) {
    start_with_model();
    act(action::ApplyKv{{look().kv.applied.settings, KvEqualise::off, 1024}});
    std::string text = "word";
    for (int i = 1; i < 2000; ++i) text += " word";
    act(action::SendMessage{text});
    until([&] { return says("2,000 tokens, but of the context's 1,024 only 1,024 are free"); });
    EXPECT_EQ(look().composer.draft, text);
    EXPECT_TRUE(engine_->replies.empty());
    EXPECT_TRUE(says("2,000 tokens are wanted"));
    // The way out, with its cost.
    const Notice& notice = look().notices.back();
    ASSERT_FALSE(notice.buttons.empty());
    EXPECT_EQ(notice.buttons[0].label, "Context 3,072 (12.0 MiB)");
    act(notice.buttons[0].action);
    EXPECT_EQ(look().kv.applied.context_tokens, 3072);
    EXPECT_FALSE(says("tokens are wanted"));
    send(text);
}

TEST_F(DesktopChat, NothingIsSentBeforeItIsCounted) {
    start_with_model();
    engine_->counts_by_itself = false;
    act(action::DraftChanged{"hello there"});
    EXPECT_TRUE(look().composer.counting);
    act(action::SendMessage{"hello there"});
    look();
    EXPECT_TRUE(engine_->replies.empty());
    engine_->release_counts();
    until([&] { return engine_->replies.size() == 1; });
}

TEST_F(DesktopChat, OldTurnsAreLeftOutWhenToldTo) {
    start_with_model();
    act(action::ApplyKv{{look().kv.applied.settings, KvEqualise::off, 1024}});
    send_and_answer("one", "a", 400);
    send_and_answer("two", "b", 800);
    send_and_answer("three", "c", 1000);
    act(action::DropOldestTurns{300});
    EXPECT_FALSE(look().transcript.messages[0]->in_context);
    EXPECT_FALSE(look().transcript.messages[1]->in_context);
    EXPECT_TRUE(look().transcript.messages[2]->in_context);
    EXPECT_EQ(look().composer.held_tokens, 1003 - 403);
    send("four");
    ASSERT_EQ(engine_->replies.back().prompt.messages.size(), 5u);
    EXPECT_EQ(engine_->replies.back().prompt.messages[0].content, "two");
}

TEST_F(DesktopChat, AFullContextOffersAWayOut) {
    start_with_model();
    act(action::ApplyKv{{look().kv.applied.settings, KvEqualise::off, 1024}});
    send("one");
    engine_->end_reply("long", 1000, StopReason::context_full);
    until([&] { return says("the context holds 1,024"); });
    EXPECT_EQ(look().transcript.messages[1]->phase, MessagePhase::stopped);
}

TEST_F(DesktopChat, DocumentsGoInWholeWithTheirCount) {
    start_with_model();
    act(action::UseExample{});
    ASSERT_EQ(look().composer.attachments.size(), 1u);
    until([&] { return look().composer.attachments[0].tokens > 0; });
    EXPECT_GT(look().composer.message_tokens, 1000);
    const std::string question = look().welcome.suggestions.at(0);
    send(question);
    const Message& message = engine_->replies.back().prompt.messages[0];
    EXPECT_GT(message.attached_bytes, 39000u);
    EXPECT_TRUE(message.content.ends_with("\n\n" + question));
    until([&] { return look().transcript.messages.size() == 2; });
    EXPECT_EQ(look().transcript.messages[0]->attachments.size(), 1u);
    EXPECT_TRUE(look().composer.attachments.empty());
}

TEST_F(DesktopChat, ADeletedConversationCanBeHadBack) {
    start_with_model();
    send_and_answer("one", "a", 4);
    until([&] { return look().conversations.items.size() == 1; });
    const int64_t id = look().conversations.selected;
    act(action::DeleteConversation{id});
    until([&] { return look().conversations.items.empty() && look().conversations.deleted; });
    EXPECT_EQ(look().conversations.deleted->title, "one");
    EXPECT_EQ(engine_->closed, std::vector<std::string>{"c" + std::to_string(id)});
    act(action::RestoreConversation{id});
    until([&] { return texts() == Texts({"one", "a"}); });
    EXPECT_FALSE(look().conversations.deleted);
}

TEST_F(DesktopChat, SearchFindsWhatWasSaid) {
    start_with_model();
    send_and_answer("about lighthouses", "a", 4);
    act(action::NewConversation{});
    send_and_answer("about bakeries", "b", 4);
    until([&] { return look().conversations.items.size() == 2; });
    act(action::SearchConversations{"lighthouses"});
    until([&] { return look().conversations.items.size() == 1; });
    EXPECT_EQ(look().conversations.query, "lighthouses");
}

}  // namespace
}  // namespace octavo
