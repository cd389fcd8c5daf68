#include "runtime/recall/document.h"

#include <gtest/gtest.h>

#include <set>

#include "models/bundled/bundled.h"
#include "runtime/recall/facts.h"
#include "runtime/recall/haystack.h"

namespace octavo {
namespace {

std::shared_ptr<const Model> pocket() {
    Result<std::shared_ptr<const Model>> model = open_model(bundled_model(), "bundled");
    EXPECT_TRUE(model) << model.error().message;
    return *model;
}

KvSettings settings(std::string_view scheme, int64_t window, int64_t sinks) {
    KvSettings kv = default_kv_settings(*parse_kv_scheme(scheme));
    kv.window = window;
    kv.sinks = sinks;
    return kv;
}

TEST(RecallDocument, HasExactlyTheTokensAskedForAndIsTheSameForTheSameSeed) {
    const auto model = pocket();
    for (const RecallHaystack haystack : {RecallHaystack::log, RecallHaystack::prose}) {
        RecallPlan plan;
        plan.haystack = haystack;
        for (const int64_t length : {3001, 4096, 16384}) {
            const auto document = make_document(*model, plan, length, 7, {64, length - 128});
            ASSERT_TRUE(document) << document.error().message;
            EXPECT_EQ(std::ssize(document->ids), length);
            const auto again = make_document(*model, plan, length, 7, {64, length - 128});
            EXPECT_EQ(again->ids, document->ids);
            EXPECT_EQ(again->hash, document->hash);
            const auto other = make_document(*model, plan, length, 8, {64, length - 128});
            EXPECT_NE(other->hash, document->hash);
        }
    }
}

TEST(RecallDocument, NoLineComesTwice) {
    for (const RecallHaystack kind : {RecallHaystack::log, RecallHaystack::prose}) {
        const auto haystack = make_haystack(kind, 1, "");
        std::set<std::string> lines;
        for (int i = 0; i < 20000; ++i) {
            const std::string line = *haystack->next_line();
            EXPECT_TRUE(lines.insert(line).second) << line;
        }
    }
}

TEST(RecallDocument, NeedlesLieWhereTheyAreSaidToLie) {
    const auto model = pocket();
    RecallPlan plan;
    const int64_t length = 4096;
    const CellRange bulk{64, length - 512};
    const auto document = make_document(*model, plan, length, 1, bulk);
    ASSERT_TRUE(document) << document.error().message;
    int scored = 0, straddle_group = 0, straddle_chunk = 0, straddle_page = 0;
    std::set<int> depths;
    for (const RecallQuestion& question : document->questions) {
        if (question.cells.size() == 0) continue;
        const auto text = [&](const CellRange& cells) {
            return decode(*model->tokenizer, {document->ids.begin() + cells.first, document->ids.begin() + cells.end});
        };
        EXPECT_NE(text(question.cells).find(question.expected.front()), std::string::npos);
        EXPECT_NE(text(question.value_cells).find(question.expected.front()), std::string::npos);
        EXPECT_LE(question.value_cells.size(), 20);
        EXPECT_GE(question.value_cells.first, question.cells.first);
        EXPECT_LE(question.value_cells.end, question.cells.end);
        if (question.purpose != RecallPurpose::score || question.family == RecallFamily::named) continue;
        ++scored;
        EXPECT_GE(question.cells.first, bulk.first) << question.text;
        EXPECT_LE(question.cells.end, bulk.end) << question.text;
        depths.insert(static_cast<int>(question.depth * 10));
        straddle_group += question.straddles_group ? 1 : 0;
        straddle_chunk += question.straddles_chunk ? 1 : 0;
        straddle_page += question.straddles_page ? 1 : 0;
    }
    EXPECT_EQ(scored, plan.needles);
    EXPECT_GE(depths.size(), 8u) << "over all of the stretch";
    EXPECT_GE(straddle_group, 8);
    EXPECT_GE(straddle_chunk, 2);
    EXPECT_GE(straddle_page, 1);
}

TEST(RecallDocument, NamedNeedlesAreAtTheirShares) {
    const auto model = pocket();
    const auto document = make_document(*model, {}, 16384, 1, {64, 16384 - 128});
    ASSERT_TRUE(document) << document.error().message;
    std::vector<double> depths;
    std::vector<std::string> values;
    for (const RecallQuestion& question : document->questions) {
        if (question.family != RecallFamily::named) continue;
        depths.push_back(question.depth);
        values.push_back(question.expected.front());
    }
    EXPECT_EQ(values, (std::vector<std::string>{"WALRUS-CANARY-2247", "QUARTZ-DELTA-8813", "TUNDRA-FALCON-6631"}));
    ASSERT_EQ(depths.size(), 3u);
    EXPECT_NEAR(depths[0], 0.25, 0.01);
    EXPECT_NEAR(depths[1], 0.50, 0.01);
    EXPECT_NEAR(depths[2], 0.90, 0.01);
}

TEST(RecallDocument, ZonesFollowTheOverlayRule) {
    const KvSettings q4 = settings("q4_0", 128, 64);
    EXPECT_EQ(recall_zone(q4, {0, 30}, 1000), RecallZone::sink);
    EXPECT_EQ(recall_zone(q4, {50, 70}, 1000), RecallZone::mixed);
    EXPECT_EQ(recall_zone(q4, {64, 873}, 1000), RecallZone::bulk) << "the query at 1000 reads 873 and later in FP16";
    EXPECT_EQ(recall_zone(q4, {64, 874}, 1000), RecallZone::mixed);
    EXPECT_EQ(recall_zone(q4, {873, 900}, 1000), RecallZone::window);
    const KvSettings q2k = settings("q2k", 0, 0);
    EXPECT_EQ(recall_zone(q2k, {960, 992}, 1000), RecallZone::bulk);
    EXPECT_EQ(recall_zone(q2k, {992, 1000}, 1000), RecallZone::window) << "an open group";
    const KvSettings raw = settings("bf16", 0, 0);
    EXPECT_EQ(recall_zone(raw, {0, 1000}, 1000), RecallZone::bulk);
    const std::vector<KvSettings> all = {q4, q2k, raw, settings("q4_0", 512, 0)};
    EXPECT_EQ(bulk_cells(all, 1000), (CellRange{64, 489}));
}

TEST(RecallDocument, WhatDoesNotFitIsRefusedWithNumbers) {
    const auto model = pocket();
    RecallPlan plan;
    const auto crowded = make_document(*model, plan, 1500, 1, {64, 1400});
    ASSERT_FALSE(crowded);
    EXPECT_EQ(crowded.error().kind, ErrorKind::usage);
    EXPECT_NE(crowded.error().message.find("1500"), std::string::npos) << crowded.error().message;

    plan.needles = 4;
    plan.haystack = RecallHaystack::file;
    plan.haystack_text = "A short text.\nOf two lines.\n";
    const auto short_text = make_document(*model, plan, 4096, 1, {0, 4096});
    ASSERT_FALSE(short_text);
    EXPECT_NE(short_text.error().message.find("4096"), std::string::npos) << short_text.error().message;
}

TEST(RecallDocument, QuestionsHaveOneAnswer) {
    RecallPlan plan;
    plan.needles = 300;
    const FactSet facts = make_facts(plan, 3);
    std::set<std::string> questions;
    for (const RecallQuestion& question : facts.questions)
        EXPECT_TRUE(questions.insert(question.text).second) << question.text;
    for (const RecallQuestion& question : facts.questions) {
        if (question.purpose != RecallPurpose::absent) continue;
        const std::string key = question.text.substr(8, question.text.size() - 9);  // without "What is " and "?"
        for (const PlantedFact& fact : facts.facts)
            EXPECT_EQ(fact.sentence.find(key + " is"), std::string::npos) << fact.sentence;
    }
}

}  // namespace
}  // namespace octavo
