// Checks of the conversation store, on a file of its own in the temporary folder.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "app/selftest/check.h"
#include "app/store/store.h"
#include "app/store/transfer.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

const char* const kText =
    "Where is the lighthouse of 灯塔港, مرحبا, e\xcc\x81, \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7?";

// A folder that is not there yet, gone at the end.
class CheckFolder {
  public:
    CheckFolder() {
        std::error_code error;
        const fs::path base = fs::temp_directory_path(error);
        for (int i = 0; i < 100 && !error && path_.empty(); ++i) {
            const fs::path path = base / fmt::format("octavo-test-{}-{}", system_now_ms(), i);
            if (fs::create_directory(path, error)) path_ = path;
        }
    }
    ~CheckFolder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    CheckFolder(const CheckFolder&) = delete;
    CheckFolder& operator=(const CheckFolder&) = delete;

    bool usable() const { return !path_.empty(); }
    StoreOptions store() const {
        StoreOptions options;
        options.file = path_ / "conversations.db";
        return options;
    }

  private:
    fs::path path_;
};

Result<int64_t> write_conversation(const StoreOptions& options) {
    const auto store = Store::open(options);
    if (!store) return store.error();
    if ((*store)->access() != StoreAccess::full) return Error{ErrorKind::io, (*store)->notices().front()};
    const Result<int64_t> id = (*store)->create_conversation();
    if (!id) return id;
    StoredMessage question;
    question.text = kText;
    const Result<int64_t> question_id = (*store)->add_message(*id, question);
    if (!question_id) return question_id;
    const Result<int64_t> reply = (*store)->begin_reply(*id, *question_id);
    if (!reply) return reply;
    if (const Status appended = (*store)->append_reply(*reply, {"On the old pier", "", {7}}); !appended)
        return appended.error();
    return id;
}

CheckOutcome conversations_are_kept(CheckContext&) {
    const CheckFolder folder;
    if (!folder.usable()) return CheckOutcome::skipped("the temporary folder cannot be written");
    const Result<int64_t> id = write_conversation(folder.store());
    if (!id) return CheckOutcome::failed(id.error().message);
    const auto store = Store::open(folder.store());
    if (!store) return CheckOutcome::failed(store.error().message);
    const Result<StoredConversation> read = (*store)->conversation(*id);
    if (!read) return CheckOutcome::failed(read.error().message);
    if (read->messages.size() != 2 || read->messages[0].text != kText)
        return CheckOutcome::failed("a conversation came back changed");
    const StoredMessage& reply = read->messages[1];
    if (reply.text != "On the old pier" || reply.state != MessageState::stopped)
        return CheckOutcome::failed("a reply that was not finished did not come back as a stopped one");
    const auto back = conversations_from_json(conversations_to_json({*read}));
    if (!back) return CheckOutcome::failed(back.error().message);
    return back->at(0).messages.at(0).text == kText ? CheckOutcome::passed()
                                                    : CheckOutcome::failed("an export came back changed");
}

CheckOutcome conversations_are_found(CheckContext&) {
    const CheckFolder folder;
    if (!folder.usable()) return CheckOutcome::skipped("the temporary folder cannot be written");
    const Result<int64_t> id = write_conversation(folder.store());
    if (!id) return CheckOutcome::failed(id.error().message);
    const auto store = Store::open(folder.store());
    if (!store) return CheckOutcome::failed(store.error().message);
    for (const char* query : {"LIGHTHOUSE", "灯塔港", "灯塔", "مرحبا", "old pier"}) {
        const Result<SearchResults> results = (*store)->search(query);
        if (!results) return CheckOutcome::failed(results.error().message);
        if (results->hits.size() != 1) return CheckOutcome::failed(fmt::format("'{}' was not found", query));
    }
    return CheckOutcome::passed();
}

CheckOutcome second_instance_is_told(CheckContext&) {
    const CheckFolder folder;
    if (!folder.usable()) return CheckOutcome::skipped("the temporary folder cannot be written");
    const auto first = Store::open(folder.store());
    if (!first) return CheckOutcome::failed(first.error().message);
    const auto second = Store::open(folder.store());
    if (!second) return CheckOutcome::failed(second.error().message);
    return (*second)->access() == StoreAccess::read_only && (*second)->notices().size() == 1
               ? CheckOutcome::passed()
               : CheckOutcome::failed("two instances may write the same file");
}

constexpr Check kChecks[] = {
    {"conversations are kept, and an unfinished reply with them", conversations_are_kept},
    {"conversations are found in every script", conversations_are_found},
    {"a second instance may read conversations and is told so", second_instance_is_told},
};

}  // namespace

std::span<const Check> store_checks() { return kChecks; }

}  // namespace octavo
