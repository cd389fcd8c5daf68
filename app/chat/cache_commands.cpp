// The chat's commands about its KV cache: what a person changes in the middle of a conversation.
#include <fmt/format.h>

#include <sstream>

#include "app/chat/chat_runner.h"
#include "app/size_text.h"

namespace octavo {
namespace {

// Words of "/kv q4_0 window=1k rotate=off encoder=reference" laid over the present settings.
Result<KvSettings> read_settings(const std::string& words, const KvSettings& present) {
    KvSettings settings = present;
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
        const size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (name == "window" || name == "sinks") {
            const Result<int64_t> tokens = parse_size(value);
            if (!tokens) return tokens.error();
            (name == "window" ? settings.window : settings.sinks) = *tokens;
        } else if (name == "rotate") {
            const Result<KvRotation> rotation = parse_kv_rotation(value);
            if (!rotation) return rotation.error();
            settings.rotation = *rotation;
        } else if (name == "encoder") {
            const Result<KvEncoder> encoder = parse_kv_encoder(value);
            if (!encoder) return encoder.error();
            settings.encoder = *encoder;
        } else if (equals != std::string::npos && name != "k" && name != "v") {
            return Error{ErrorKind::usage,
                         fmt::format("/kv has no setting \"{}\"; there are window=N, sinks=N, rotate=on|off|auto, "
                                     "encoder=refined|reference, and a scheme such as q8_0 or k=q8_0,v=q4_0.",
                                     name)};
        } else {
            const Result<KvScheme> scheme = parse_kv_scheme(word);
            if (!scheme) return scheme.error();
            // A raw scheme has no overlay; a packed one that follows it gets the usual one.
            const KvSettings defaults = default_kv_settings(*scheme);
            if (scheme->raw() || settings.scheme.raw()) {
                settings.window = defaults.window;
                settings.sinks = defaults.sinks;
            }
            settings.scheme = *scheme;
        }
    }
    return settings;
}

}  // namespace

Result<ChatRunner::Outcome> ChatRunner::change_kv(const std::string& argument) {
    const Result<Conversation::CacheState> before = conversation_->cache_state();
    if (!before) return before.error();
    if (argument.empty()) return stats("");
    const Result<KvSettings> wanted = read_settings(argument, before->settings);
    if (!wanted) return wanted.error();
    const Result<KvChange> change = conversation_->change_kv(*wanted);
    if (!change) return change.error();
    if (change->error) return *change->error;
    const Result<Conversation::CacheState> after = conversation_->cache_state();
    if (!after) return after.error();
    const int64_t used = conversation_->context_used();
    std::string line =
        fmt::format("KV cache is {} now: {} bytes a token (was {})", describe_kv_settings(after->settings),
                    group_digits(after->bytes_per_token), group_digits(before->bytes_per_token));
    if (change->exact_from > 0 && used > 0) {
        line += fmt::format("; exact from token {} on, older ones keep their former error (/rebuild reads them again)",
                            group_digits(change->exact_from));
    }
    view_->say(line);
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::set_context(const std::string& argument) {
    if (argument.empty()) return Error{ErrorKind::usage, "Say how many tokens: /ctx N."};
    const Result<int64_t> tokens = parse_size(argument);
    if (!tokens) return tokens.error();
    if (const Status status = conversation_->set_context_length(*tokens); !status) return status.error();
    view_->say(fmt::format("the context holds {} tokens now", group_digits(*tokens)));
    return Outcome::go_on;
}

Result<ChatRunner::Outcome> ChatRunner::rebuild(const std::string&) {
    view_->begin();
    const Result<PrefillReport> report = conversation_->rebuild(*view_);
    if (!report) return report.error();
    view_->say(fmt::format("{} tokens read again", group_digits(report->prefilled_tokens)));
    return Outcome::go_on;
}

}  // namespace octavo
