#include "app/chat/chat_runner.h"

#include <fmt/format.h>

#include <charconv>
#include <span>
#include <utility>

#include "app/chat/message_file.h"
#include "app/size_text.h"
#include "app/text_file.h"
#include "app/token_list.h"

namespace octavo {

struct ChatRunner::Command {
    std::string_view name;
    std::string_view usage;
    std::string_view help;
    Result<Outcome> (ChatRunner::*run)(const std::string& argument);

    static std::span<const Command> all() {
        static constexpr Command kCommands[] = {
            {"help", "/help", "this list", &ChatRunner::help},
            {"regen", "/regen", "another reply to the last message", &ChatRunner::regenerate},
            {"edit", "/edit N [TEXT]", "change your message N; what followed it is forgotten", &ChatRunner::edit},
            {"system", "/system [TEXT]", "show or set the system prompt; '/system -' removes it", &ChatRunner::system},
            {"file", "/file PATH", "put a whole text file before your next message; '/file -' drops it again",
             &ChatRunner::attach_file},
            {"clear", "/clear", "start again, with the same system prompt", &ChatRunner::clear},
            {"kv", "/kv [SCHEME ...]", "show or change the KV cache; also window=N sinks=N rotate=R encoder=E",
             &ChatRunner::change_kv},
            {"ctx", "/ctx N", "change the context length, now", &ChatRunner::set_context},
            {"rebuild", "/rebuild", "read everything again, exactly under the present settings", &ChatRunner::rebuild},
            {"stats", "/stats", "what the conversation takes", &ChatRunner::stats},
            {"save", "/save FILE", "write the conversation as JSON", &ChatRunner::save},
            {"quit", "/quit", "leave (as Ctrl-D does)", &ChatRunner::quit},
        };
        return kCommands;
    }
};

const ChatRunner::Command* ChatRunner::find_command(std::string_view name) {
    for (const Command& command : Command::all())
        if (command.name == name) return &command;
    return nullptr;
}

Result<ChatRunner::Outcome> ChatRunner::run(const std::string& input) {
    if (const Status text = check_text("The message", input); !text) return text.error();
    if (input.starts_with("//")) return ask(input.substr(1));
    if (input.starts_with("/")) return run_command(input);
    return ask(input);
}

std::string ChatRunner::take_draft() { return std::exchange(draft_, {}); }

Result<ChatRunner::Outcome> ChatRunner::run_command(const std::string& input) {
    const size_t name_end = std::min(input.find_first_of(" \n\t"), input.size());
    const std::string name = input.substr(1, name_end - 1);
    const Command* command = find_command(name);
    if (command == nullptr)
        return Error{ErrorKind::usage,
                     fmt::format("There is no command '/{}': /help lists them. A message that begins with '/' is "
                                 "written with '//'.",
                                 name)};
    const size_t argument = input.find_first_not_of(" \n\t", name_end);
    return (this->*command->run)(argument == std::string::npos ? "" : input.substr(argument));
}

Result<ChatRunner::Outcome> ChatRunner::finish_reply(const Result<GenerationReport>& report) {
    if (!report) return report.error();
    view_->end(*report, conversation_->kept());
    if (show_ids_) view_->result(token_list_text(report->ids) + "\n");
    replies_.push_back(*report);
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::ask(const std::string& text) {
    view_->begin();
    return finish_reply(conversation_->ask(text, *view_));
}

Result<ChatRunner::Outcome> ChatRunner::regenerate(const std::string&) {
    view_->begin();
    return finish_reply(conversation_->regenerate(*view_));
}

Result<ChatRunner::Outcome> ChatRunner::edit(const std::string& argument) {
    int64_t number = 0;
    const char* const end = argument.data() + argument.size();
    const auto [rest, error] = std::from_chars(argument.data(), end, number);
    if (error != std::errc()) return Error{ErrorKind::usage, "Say which message to change: /edit N [TEXT]."};
    const Result<std::string> old = conversation_->user_message(number);
    if (!old) return old.error();
    std::string text(rest, end);
    text.erase(0, std::min(text.find_first_not_of(" \t\n"), text.size()));
    if (text.empty() && interactive_) {
        draft_ = fmt::format("/edit {} {}", number, *old);
        return Outcome::go_on;
    }
    if (text.empty()) return Error{ErrorKind::usage, "Say what the message becomes: /edit N TEXT."};
    view_->begin();
    return finish_reply(conversation_->edit(number, text, *view_));
}

Result<ChatRunner::Outcome> ChatRunner::help(const std::string&) {
    for (const Command& command : Command::all())
        view_->say(fmt::format("  {:<16} {}", command.usage, command.help), false);
    view_->say(R"(  """             begins and ends a message of several lines)", false);
    view_->say("  Ctrl-C          stops a reply, or the reading of a prompt", false);
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::system(const std::string& argument) {
    if (argument.empty()) {
        const std::string text = conversation_->system_prompt();
        view_->say(text.empty() ? "there is no system prompt" : text, false);
        return Outcome::go_on;
    }
    conversation_->set_system_prompt(argument == "-" ? "" : argument);
    view_->say(argument == "-" ? "system prompt removed" : "system prompt set");
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::attach_file(const std::string& argument) {
    if (argument.empty()) return Error{ErrorKind::usage, "Say which file: /file PATH."};
    if (argument == "-") {
        view_->say(fmt::format("nothing goes before your next message now ({} tokens dropped)",
                               group_digits(conversation_->detach())));
        return Outcome::go_on;
    }
    const Result<std::string> text = read_text_file(argument);
    if (!text) return text.error();
    const Result<int64_t> tokens = conversation_->attach(*text);
    if (!tokens) return tokens.error();
    const Result<Conversation::CacheState> cache = conversation_->cache_state();
    if (!cache) return cache.error();
    view_->say(fmt::format("{} goes before your next message: {} tokens, of {} in the context", argument,
                           group_digits(*tokens), group_digits(cache->context_length)));
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::clear(const std::string&) {
    if (const Status cleared = conversation_->clear(); !cleared) return cleared.error();
    first_reply_ = replies_.size();
    view_->say("the conversation is empty");
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::stats(const std::string&) {
    const EngineInfo& info = conversation_->engine().info();
    const Result<Conversation::CacheState> cache = conversation_->cache_state();
    if (!cache) return cache.error();
    const int64_t used = conversation_->context_used();
    view_->say(fmt::format("{} messages, {} of {} tokens of context", conversation_->messages().size(),
                           group_digits(used), group_digits(cache->context_length)),
               false);
    view_->say(fmt::format("KV cache {}: {} bytes a token, {} so far, {} committed",
                           describe_kv_settings(cache->settings), group_digits(cache->bytes_per_token),
                           bytes_text(used * cache->bytes_per_token), bytes_text(cache->committed_bytes)),
               false);
    view_->say(info.backend, false);
    if (conversation_->attached_tokens() > 0)
        view_->say(fmt::format("{} tokens of files go before your next message",
                               group_digits(conversation_->attached_tokens())),
                   false);
    if (replies_.size() > first_reply_) view_->say("last reply: " + figures_line(replies_.back()), false);
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::save(const std::string& argument) {
    if (argument.empty()) return Error{ErrorKind::usage, "Say where to: /save FILE."};
    if (const Result<std::string> first = conversation_->user_message(1); !first)
        return Error{ErrorKind::usage, "Nothing was said yet, so there is nothing to save."};
    if (const Status target = check_messages_target(argument); !target) return target.error();
    if (const Status saved = write_text_file(argument, messages_json(conversation_->messages()) + "\n"); !saved)
        return saved.error();
    view_->say(fmt::format("{} messages written to {}", conversation_->messages().size(), argument));
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::quit(const std::string&) { return Outcome::quit; }

}  // namespace octavo
