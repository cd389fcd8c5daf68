// Search over titles and messages. The trigram index tells which texts may have the words of three characters and more;
// these texts are read. Shorter words alone are looked for in the newest messages.
#include <fmt/format.h>

#include <unordered_set>

#include "app/store/search_query.h"
#include "app/store/sqlite.h"
#include "app/store/store.h"

namespace octavo {
namespace {

// What a search of brief words alone looks through: it reads every text.
constexpr int64_t kScannedMessages = 20'000;
// Texts that are read because they have all trigrams, but not the words: more would take too long.
constexpr int64_t kReadInVain = 5'000;

constexpr const char* kHitColumns =
    "conversations.id, conversations.title, titled_by_person, conversations.created_ms, updated_ms, deleted_ms";

// "AND text LIKE ? ESCAPE '\'" for every brief word.
std::string brief_condition(const char* column, const SearchWords& words) {
    std::string condition;
    for (size_t i = 0; i < words.brief.size(); ++i) condition += fmt::format(" AND {} LIKE ? ESCAPE '\\'", column);
    return condition;
}

// The words as the parameters of such a statement.
void bind_words(Statement& statement, const SearchWords& words) {
    int index = 0;
    if (!words.indexed.empty()) return statement.bind_at(++index, match_expression(words.indexed));
    for (const std::string& word : words.brief) statement.bind_at(++index, like_pattern(word));
}

// CROSS JOIN keeps the order of the tables: SQLite would rather go through all conversations in order, and ask the
// index about each of them.
std::string title_sql(const SearchWords& words) {
    if (words.indexed.empty())
        return fmt::format("SELECT {}, 0 FROM conversations WHERE deleted_ms = 0{} ORDER BY updated_ms DESC",
                           kHitColumns, brief_condition("title", words));
    return fmt::format(
        "SELECT {}, 0 FROM title_search CROSS JOIN conversations ON conversations.id = title_search.rowid "
        "WHERE title_search MATCH ? AND deleted_ms = 0 ORDER BY updated_ms DESC",
        kHitColumns);
}

std::string message_sql(const SearchWords& words) {
    if (words.indexed.empty())
        return fmt::format(
            "SELECT {}, messages.id, text FROM messages JOIN conversations ON conversations.id = conversation_id "
            "WHERE deleted_ms = 0 AND messages.id > (SELECT max(id) FROM messages) - {}{} ORDER BY messages.id DESC",
            kHitColumns, kScannedMessages, brief_condition("text", words));
    return fmt::format(
        "SELECT {}, messages.id, messages.text FROM message_search CROSS JOIN messages ON messages.id = "
        "message_search.rowid "
        "CROSS JOIN conversations ON conversations.id = conversation_id "
        "WHERE message_search MATCH ? AND deleted_ms = 0 ORDER BY message_search.rowid DESC",
        kHitColumns);
}

}  // namespace

// Hits of one statement, of conversations that have none yet.
Status Store::collect_hits(const std::string& sql, const SearchWords& words, int64_t limit, SearchResults& results) {
    std::unordered_set<int64_t> found;
    for (const SearchHit& hit : results.hits) found.insert(hit.conversation.id);
    Result<Statement> rows = database_->prepare(sql);
    if (!rows) return rows.error();
    bind_words(*rows, words);
    int64_t read_in_vain = 0;
    while (static_cast<int64_t>(results.hits.size()) < limit) {
        const Result<bool> row = rows->step();
        if (!row) return row.error();
        if (!*row) break;
        SearchHit hit;
        hit.conversation = read_summary(*rows);
        if (found.contains(hit.conversation.id)) continue;
        hit.message_id = rows->integer(6);
        const std::string text = hit.message_id != 0 ? rows->text(7) : hit.conversation.title;
        if (!words.indexed.empty() && !has_words(text, words)) {
            if (++read_in_vain < kReadInVain || hit.message_id == 0) continue;
            return count_messages_before(hit.message_id, results);
        }
        if (hit.message_id != 0) hit.excerpt = search_excerpt(text, words);
        found.insert(hit.conversation.id);
        results.hits.push_back(std::move(hit));
    }
    return {};
}

Status Store::count_messages_before(int64_t message_id, SearchResults& results) {
    const Result<int64_t> older = database_->value("SELECT count(*) FROM messages WHERE id < ?", message_id);
    if (!older) return older.error();
    results.messages_not_searched = *older;
    return {};
}

Status Store::collect_all_hits(const SearchWords& words, int64_t limit, SearchResults& results) {
    results.hits.clear();
    for (const std::string& sql : {title_sql(words), message_sql(words)})
        if (const Status done = collect_hits(sql, words, limit, results); !done) return done;
    return {};
}

Result<SearchResults> Store::search(const std::string& query, int64_t limit) {
    SearchResults results;
    const SearchWords words = search_words(query);
    if (words.indexed.empty() && words.brief.empty()) return results;
    Status done = collect_all_hits(words, limit, results);
    if (!done && mend_search_index()) done = collect_all_hits(words, limit, results);
    if (!done) {
        note_damage();
        return done.error();
    }
    if (!words.indexed.empty()) return results;
    const Result<int64_t> newest = database_->value("SELECT max(id) FROM messages");
    if (!newest) return newest.error();
    if (const Status counted = count_messages_before(*newest - kScannedMessages + 1, results); !counted)
        return counted.error();
    return results;
}

}  // namespace octavo
