// How long the conversation store takes to open, list, search and save, with 10,000 conversations of 20 messages.
//
//   store_bench FILE [CONVERSATIONS]
//
// The file is made where it is not there, and stays. Times are medians of 9, with the least and the most; the first
// opening is shown on its own.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "app/size_text.h"
#include "app/store/store.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kMessagesEach = 20;
constexpr int kRepeats = 9;

double ms_of(const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void report(const std::string& name, const std::function<void()>& work) {
    std::vector<double> times;
    for (int i = 0; i < kRepeats; ++i) times.push_back(ms_of(work));
    std::sort(times.begin(), times.end());
    fmt::print("{:<58} {:>9.2f} ms  ({:.2f} to {:.2f})\n", name, times[kRepeats / 2], times.front(), times.back());
}

// Text of English and Chinese words whose frequencies fall as those of a language do.
class Texts {
  public:
    Texts() {
        for (int i = 0; i < 5000; ++i) {
            std::string word;
            const int letters = 2 + static_cast<int>(random_() % 8);
            for (int c = 0; c < letters; ++c) word += static_cast<char>('a' + random_() % 26);
            if (i % 10 == 9) word = "船长灯塔港口的故事";
            words_.push_back(std::move(word));
        }
    }
    std::string next() {
        std::string text;
        const int words = 20 + static_cast<int>(random_() % 120);
        for (int i = 0; i < words; ++i) {
            const double u = static_cast<double>(random_() % 100'000) / 100'000.0;
            text += words_[static_cast<size_t>(u * u * u * static_cast<double>(words_.size()))] + ' ';
        }
        return text;
    }
    const std::string& word(size_t rank) const { return words_[rank]; }

  private:
    std::mt19937 random_{1};
    std::vector<std::string> words_;
};

bool failed(const Error& error) {
    fmt::print(stderr, "store_bench: {}\n", error.message);
    return false;
}

bool fill(const StoreOptions& options, Texts& texts, int conversations) {
    const auto store = Store::open(options);
    if (!store) return failed(store.error());
    for (int c = 0; c < conversations; ++c) {
        StoredConversation conversation;
        conversation.summary.title = texts.next().substr(0, 40);
        for (int m = 1; m <= kMessagesEach; ++m) {
            StoredMessage message;
            message.id = m;
            message.parent_id = m - 1;
            message.role = m % 2 == 1 ? Role::user : Role::assistant;
            message.text = texts.next();
            if (c == conversations / 3 && m == 5) message.text += " QUARTZ-DELTA-8813";
            conversation.messages.push_back(std::move(message));
        }
        if (const auto id = (*store)->add_conversation(conversation); !id) return failed(id.error());
    }
    return true;
}

bool measure(const StoreOptions& options, const Texts& texts, int conversations) {
    report("open and list all conversations", [&] {
        const auto store = Store::open(options);
        if (store) (void)(*store)->conversations();
    });
    const auto opened = Store::open(options);
    if (!opened) return failed(opened.error());
    Store& store = **opened;
    const auto search = [&](const std::string& name, const std::string& query) {
        size_t hits = 0;
        report(fmt::format("search {}", name), [&] {
            const auto results = store.search(query);
            hits = results ? results->hits.size() : 0;
        });
        fmt::print("{:<58} {:>9} hits\n", "", hits);
    };
    search("one message among all", "quartz-delta");
    search("the most frequent word", texts.word(0) + texts.word(0).substr(0, 1));
    search("a frequent word", texts.word(3));
    search("two frequent words", texts.word(1) + " " + texts.word(2));
    search("four Chinese characters", "灯塔港口");
    search("two Chinese characters (no index)", "港口");
    search("two letters that are nowhere (no index)", "§§");
    search("nothing", "walrus albatross");
    report("read one conversation", [&] { (void)store.conversation(conversations / 2); });
    const auto conversation = store.create_conversation();
    if (!conversation) return failed(conversation.error());
    StoredMessage message;
    message.text = "A question of ordinary length about the harbour and its lighthouse.";
    report("save a message", [&] { (void)store.add_message(*conversation, message); });
    const auto reply = store.begin_reply(*conversation, 0);
    if (!reply) return failed(reply.error());
    report("save a piece of a reply", [&] {
        (void)store.append_reply(*reply, {std::string(300, 'x'), "", std::vector<int32_t>(64, 7)});
    });
    return true;
}

bool run(const fs::path& file, int conversations) {
    StoreOptions options;
    options.file = file;
    Texts texts;
    if (!fs::exists(file)) {
        bool filled = false;
        const double made_ms = ms_of([&] { filled = fill(options, texts, conversations); });
        if (!filled) return false;
        fmt::print("made in {:.0f} s\n", made_ms / 1000);
    }
    fmt::print("{} conversations, {} messages, {}\n", group_digits(conversations),
               group_digits(int64_t{conversations} * kMessagesEach),
               bytes_text(static_cast<int64_t>(fs::file_size(file))));
    fmt::print("first opening: {:.1f} ms\n", ms_of([&] { (void)Store::open(options); }));
    return measure(options, texts, conversations);
}

}  // namespace
}  // namespace octavo

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print(stderr, "usage: store_bench FILE [CONVERSATIONS]\n");
        return 2;
    }
    return octavo::run(argv[1], argc > 2 ? std::atoi(argv[2]) : 10'000) ? 0 : 1;
}
