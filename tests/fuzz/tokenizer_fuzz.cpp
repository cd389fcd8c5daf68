// Vocabulary arrays and text from bytes: whatever they are, there is an answer or a sentence, and where text can be
// encoded its bytes come back (U+2581 aside). The first byte chooses between arrays and a tokenizer.model.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/sentencepiece_tokenizer.h"

namespace {

using namespace octavo;

void require(bool holds) {
    if (!holds) __builtin_trap();
}

// Takes values from the front of the input; zeros when it is used up.
class Input {
  public:
    Input(const uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
    uint8_t byte() { return static_cast<uint8_t>(take(1).empty() ? 0 : last_[0]); }
    std::string_view take(std::size_t size) {
        last_ = rest_.substr(0, size);
        rest_.remove_prefix(last_.size());
        return last_;
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
    std::string_view last_;
};

void use(const Tokenizer& tokenizer, std::string_view text) {
    const Result<std::vector<int32_t>> ids = tokenizer.encode_text(text);
    if (!ids) {
        require(!ids.error().message.empty());
    } else {
        std::string back;
        for (const int32_t id : *ids) back += tokenizer.token_bytes(id);
        if (text.find("\xE2\x96\x81") == std::string_view::npos)
            require(back == text ||
                    back == " " + std::string(text));  // with a space before, if the vocabulary wants it
        (void)decode(tokenizer, *ids);
    }
    (void)tokenizer.encode({{std::string(text), true}, {std::string(text), false}});
}

Result<std::shared_ptr<const Tokenizer>> from_arrays(Input& input) {
    std::vector<std::string_view> tokens;
    std::vector<float> scores;
    std::vector<int32_t> types;
    const auto small_id = [&] { return static_cast<int32_t>(static_cast<int8_t>(input.byte())); };
    const SpecialIds special{small_id(), small_id(), small_id(), small_id()};
    const bool prefix = input.byte() & 1;
    if (input.byte() & 1) {
        static const std::vector<std::string> names = [] {
            std::vector<std::string> all;
            for (int i = 0; i < 256; ++i)
                all.push_back({'<', '0', 'x', "0123456789ABCDEF"[i / 16], "0123456789ABCDEF"[i % 16], '>'});
            return all;
        }();
        tokens.assign(names.begin(), names.end());
        scores.assign(256, 0);
        types.assign(256, 6);
    }
    for (int count = input.byte(); count > 0; --count) {
        tokens.push_back(input.take(input.byte() % 16));
        float score = 0;
        const std::string_view bytes = input.take(sizeof score);
        std::memcpy(&score, bytes.data(), bytes.size());
        scores.push_back(score);
        types.push_back(input.byte() % 8);
    }
    if (input.byte() == 255) scores.push_back(0);
    return make_sentencepiece({tokens, scores, types, special, prefix});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    const bool file = input.byte() & 1;
    const std::string_view model = file ? input.take(size / 2) : "";
    const auto tokenizer = file ? make_sentencepiece(model, SpecialIds{}) : from_arrays(input);
    if (!tokenizer)
        require(!tokenizer.error().message.empty());
    else
        use(**tokenizer, input.rest());
    return 0;
}
