#include "models/tokenizer/tokenizer.h"

#include "models/tokenizer/utf8.h"

namespace octavo {

std::string StreamDecoder::feed(int32_t id) {
    pending_ += tokenizer_->token_bytes(id);
    std::string out;
    std::string_view rest = pending_;
    while (!rest.empty()) {
        const Utf8Step step = read_utf8(rest);
        if (step.kind == Utf8Step::Kind::cut) break;
        out += step.kind == Utf8Step::Kind::character ? rest.substr(0, step.bytes) : replacement_character;
        rest.remove_prefix(step.bytes);
    }
    pending_.erase(0, pending_.size() - rest.size());
    return out;
}

std::string StreamDecoder::finish() {
    const std::string_view left = pending_.empty() ? std::string_view() : replacement_character;
    pending_.clear();
    return std::string(left);
}

std::string decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    StreamDecoder decoder(tokenizer);
    std::string text;
    for (const int32_t id : ids) text += decoder.feed(id);
    return text + decoder.finish();
}

}  // namespace octavo
