// Search over titles and messages, in every script, also for words that are too short for the index.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/store/search_query.h"
#include "app/text_file.h"
#include "tests/support/store_samples.h"
#include "tests/support/temporary_folder.h"

namespace octavo {
namespace {

class StoreSearch : public testing::Test {
  protected:
    int64_t add(const std::string& text, const std::string& title = "") {
        const int64_t id = value_of(store_->create_conversation({}, title));
        last_message_ = value_of(store_->add_message(id, user_message(text)));
        return id;
    }
    std::vector<int64_t> found(const std::string& query) {
        std::vector<int64_t> ids;
        for (const SearchHit& hit : value_of(store_->search(query)).hits) ids.push_back(hit.conversation.id);
        return ids;
    }

    std::unique_ptr<Store> store_ = open_store(StoreOptions{});
    int64_t last_message_ = 0;
};

using Ids = std::vector<int64_t>;

TEST_F(StoreSearch, EveryScriptIsFoundUnchanged) {
    const std::vector<std::string> words = {
        "船长的名字",  // five characters
        "灯塔",        // two: not in the index
        "センチメートル",
        "등대지기",
        "مرحبا",
        "क्षेत्र",
        "Zürich",
        "re\xcc\x81sume\xcc\x81",                                                    // combining marks
        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7",  // a family, joined
        "\xf0\x9f\xa6\x89",                                                          // one emoji
        "\xf0\x9f\x87\xaf\xf0\x9f\x87\xb5",                                          // a flag: two characters
    };
    for (const std::string& word : words) {
        const int64_t id = add("before " + word + " after");
        EXPECT_EQ(found(word), Ids{id}) << word;
        const SearchResults results = value_of(store_->search(word));
        ASSERT_EQ(results.hits.size(), 1u);
        // The title has the word too, so the hit is the title's; a message below it is found as well.
        EXPECT_NE(results.hits[0].conversation.title.find(word), std::string::npos);
    }
    const int64_t middle = add("甲乙丙丁戊");
    EXPECT_EQ(found("乙丙丁"), Ids{middle});
    EXPECT_EQ(found("丙丁"), Ids{middle});
    EXPECT_EQ(found("丁"), Ids{middle});
    EXPECT_EQ(found("丁丙"), Ids{});
}

TEST_F(StoreSearch, AllWordsMustBeThereInAnyOrderAndCase) {
    const int64_t id = add("The Lighthouse of ÖREBRO is by the sea", "a");
    add("a lighthouse elsewhere", "b");
    EXPECT_EQ(found("örebro LIGHT"), Ids{id});
    EXPECT_EQ(found("is örebro"), Ids{id}) << "a brief word narrows it";
    EXPECT_EQ(found("xy örebro"), Ids{});
    EXPECT_EQ(found("\"the lighthouse of\""), Ids{id});
    EXPECT_EQ(found("\"lighthouse the\""), Ids{});
    EXPECT_EQ(found("  "), Ids{});
    EXPECT_EQ(found("\"\""), Ids{});
}

TEST_F(StoreSearch, AllTrigramsAreNotYetTheWord) {
    add("abcd bcde", "t");
    EXPECT_EQ(found("abcde"), Ids{});
    const int64_t id = add("x ABCDE y", "t");
    EXPECT_EQ(found("abcde"), Ids{id});
    const int64_t cyrillic = add("МОСКВА ΑΘΗΝΑ ŁÓDŹ", "t");
    EXPECT_EQ(found("москва"), Ids{cyrillic});
    EXPECT_EQ(found("αθηνα łódź"), Ids{cyrillic});
}

TEST_F(StoreSearch, WhatIsTypedIsNeverTakenForQuerySyntax) {
    const int64_t id = add("100% of C:\\_temp AND \"NEAR(\" 'quoted' -x col:umn * ^", "t");
    for (const char* query : {"100% AND", "C:\\_temp", "NEAR(", "'quoted'", "-x 100", "col:umn", "%", "_t", "\\", "*",
                              "^", "\"NEAR(", "\"NEAR( 'q"})
        EXPECT_LE(found(query).size(), 1u) << query;
    EXPECT_EQ(found("100%"), Ids{id});
    EXPECT_EQ(found("0%"), Ids{id});
    EXPECT_EQ(found("9%"), Ids{}) << "a percent sign is no wildcard";
    EXPECT_EQ(found("NEAR("), Ids{id});
    EXPECT_EQ(found("\xff\xfe\xfd"), Ids{}) << "not text";
}

TEST_F(StoreSearch, TitlesComeFirstThenTheNewest) {
    const int64_t by_message = add("about harbours", "first");
    const int64_t newer = add("more harbours, many harbours", "second");
    const int64_t by_title = add("nothing", "Harbours");
    EXPECT_EQ(found("harbours"), (Ids{by_title, newer, by_message}));
    const SearchResults results = value_of(store_->search("harbours"));
    EXPECT_EQ(results.hits[0].message_id, 0);
    EXPECT_GT(results.hits[1].message_id, 0);
    EXPECT_EQ(results.hits[2].excerpt, "about harbours");
    EXPECT_EQ(value_of(store_->search("harbours", 2)).hits.size(), 2u);
}

TEST_F(StoreSearch, FollowsEveryChange) {
    const int64_t id = add("the old lighthouse", "one");
    EXPECT_EQ(found("lighthouse"), Ids{id});
    const int64_t reply = value_of(store_->begin_reply(id, last_message_));
    expect_ok(store_->append_reply(reply, {"a walrus", "", {}}));
    EXPECT_EQ(found("walrus"), Ids{}) << "while it streams it is not indexed";
    FinishedReply finished;
    finished.text = "a walrus, I said";
    expect_ok(store_->finish_reply(reply, finished));
    EXPECT_EQ(found("walrus"), Ids{id});
    expect_ok(store_->rename_conversation(id, "Capybara"));
    EXPECT_EQ(found("capybara"), Ids{id});
    EXPECT_EQ(found("walrus"), Ids{id});
    expect_ok(store_->delete_branch(reply));
    EXPECT_EQ(found("walrus"), Ids{});
    expect_ok(store_->trash_conversation(id));
    EXPECT_EQ(found("lighthouse"), Ids{});
    EXPECT_EQ(found("ol"), Ids{});
    expect_ok(store_->restore_conversation(id));
    EXPECT_EQ(found("lighthouse"), Ids{id});
}

TEST(SearchExcerpt, IsOneLineAroundTheMatchAndCutsNoCharacter) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "灯塔\n";
    text += "here is the Captain";
    for (int i = 0; i < 100; ++i) text += "船长\t";
    const std::string excerpt = search_excerpt(text, search_words("captain"));
    EXPECT_NE(excerpt.find("here is the Captain"), std::string::npos) << excerpt;
    EXPECT_TRUE(excerpt.starts_with("…"));
    EXPECT_TRUE(excerpt.ends_with("…"));
    EXPECT_EQ(excerpt.find('\n'), std::string::npos);
    EXPECT_EQ(excerpt.find('\t'), std::string::npos);
    EXPECT_LT(excerpt.size(), 200u);
    EXPECT_EQ(find_invalid_utf8(excerpt), std::string::npos) << "cut inside a character";
}

}  // namespace
}  // namespace octavo
