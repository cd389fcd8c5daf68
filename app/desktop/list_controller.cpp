#include "app/desktop/list_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "app/size_text.h"

namespace octavo {
namespace {

constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};

std::tm local_time(int64_t ms) {
    const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
    const std::tm* local = std::localtime(&seconds);
    return local != nullptr ? *local : std::tm{};
}

// Days since some day, by the local calendar.
int64_t day_number(std::tm day) {
    day.tm_hour = 12;  // away from changes of summer time
    day.tm_min = day.tm_sec = 0;
    day.tm_isdst = -1;
    return static_cast<int64_t>(std::mktime(&day)) / 86400;
}

}  // namespace

CalendarText calendar_text(int64_t time_ms, int64_t now_ms) {
    const std::tm time = local_time(time_ms);
    const int64_t days = day_number(local_time(now_ms)) - day_number(time);
    if (days <= 0) return {fmt::format("{:02}:{:02}", time.tm_hour, time.tm_min), "Today"};
    if (days == 1) return {fmt::format("{:02}:{:02}", time.tm_hour, time.tm_min), "Yesterday"};
    if (days < 7) return {kDays[time.tm_wday], "This week"};
    return {fmt::format("{} {:.3}", time.tm_mday, kMonths[time.tm_mon]),
            fmt::format("{} {}", kMonths[time.tm_mon], time.tm_year + 1900)};
}

ListController::ListController(const Services& services, std::function<void()> changed)
    : services_(services), changed_(std::move(changed)) {}

void ListController::refresh() {
    state_.loading = true;
    services_.ask_store(
        [query = state_.query](Store& store) -> Result<SearchResults> {
            if (!query.empty()) return store.search(query);
            const Result<std::vector<ConversationSummary>> all = store.conversations();
            if (!all) return all.error();
            SearchResults results;
            for (const ConversationSummary& summary : *all) results.hits.push_back({summary, 0, ""});
            return results;
        },
        [this, asked = ++asked_](Result<SearchResults> results) {
            if (asked != asked_) return;
            state_.loading = false;
            state_.error = results ? "" : results.error().message;
            if (results && results->messages_not_searched > 0)
                state_.error = fmt::format("{} older messages were not searched for so short a word.",
                                           group_digits(results->messages_not_searched));
            show(results ? std::move(results->hits) : std::vector<SearchHit>{});
            changed_();
        });
}

void ListController::show(std::vector<SearchHit> hits) {
    state_.items.clear();
    const int64_t now = services_.now_ms();
    for (SearchHit& hit : hits) {
        ConversationItem item;
        item.id = hit.conversation.id;
        item.title = hit.conversation.title.empty() ? "New conversation" : std::move(hit.conversation.title);
        item.snippet = std::move(hit.excerpt);
        CalendarText text = calendar_text(hit.conversation.updated_ms, now);
        item.time_text = std::move(text.time);
        if (state_.query.empty()) item.group_text = std::move(text.group);
        state_.items.push_back(std::move(item));
    }
}

void ListController::search(const std::string& query) {
    state_.query = query;
    refresh();
    changed_();
}

void ListController::rename(int64_t id, const std::string& title) {
    services_.store.post([id, title](Store& store) { return store.rename_conversation(id, title); });
    refresh();
}

std::string ListController::title_of(int64_t id) const {
    const auto item = std::find_if(state_.items.begin(), state_.items.end(),
                                   [&](const ConversationItem& each) { return each.id == id; });
    return item != state_.items.end() ? item->title : "";
}

void ListController::remove(int64_t id) {
    state_.deleted = {id, title_of(id)};
    services_.store.post([id](Store& store) { return store.trash_conversation(id); });
    refresh();
}

void ListController::restore(int64_t id) {
    if (state_.deleted && state_.deleted->id == id) state_.deleted.reset();
    services_.store.post([id](Store& store) { return store.restore_conversation(id); });
    refresh();
}

void ListController::fill(ConversationsState& state, int64_t selected, int64_t busy) const {
    state = state_;
    state.selected = selected;
    for (ConversationItem& item : state.items) item.busy = item.id == busy;
}

}  // namespace octavo
