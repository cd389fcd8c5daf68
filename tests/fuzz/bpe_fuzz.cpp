// Byte-level BPE from bytes: vocabulary arrays as they come, a vocabulary that is sound by construction, or a
// tokenizer.json. Whatever they are, there is an answer or a sentence; what can be encoded comes back, normalised.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "models/tokenizer/bpe_tokenizer.h"
#include "models/tokenizer/nfc.h"
#include "models/tokenizer/tokenizer_json.h"

namespace {

using namespace octavo;
using TokenizerResult = Result<std::shared_ptr<const Tokenizer>>;

void require(bool holds) {
    if (!holds) __builtin_trap();
}

// Takes values from the front of the input; zeros when it is used up.
class Input {
  public:
    Input(const uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
    uint8_t byte() {
        const std::string_view one = take(1);
        return one.empty() ? 0 : static_cast<uint8_t>(one[0]);
    }
    std::string_view take(std::size_t size) {
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

// The names of the 256 bytes.
std::vector<std::string> byte_names() {
    std::vector<std::string> names;
    int other = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
        const int c = printable ? byte : other++;
        names.push_back(c < 0x80 ? std::string(1, static_cast<char>(c))
                                 : std::string{static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))});
    }
    return names;
}

struct Arrays {
    std::vector<std::string> tokens;
    std::vector<int32_t> types;
    std::vector<std::string> merges;

    TokenizerResult make(BpeSplit split, const SpecialIds& special, int32_t vocab_size) const {
        const std::vector<std::string_view> token_views(tokens.begin(), tokens.end());
        const std::vector<std::string_view> merge_views(merges.begin(), merges.end());
        return make_bpe_tokenizer({token_views, types, merge_views, split, true, special, vocab_size});
    }
};

Arrays any_arrays(Input& input) {
    Arrays arrays;
    for (int count = input.byte(); count > 0; --count) {
        arrays.tokens.emplace_back(input.take(input.byte() % 8));
        arrays.types.push_back(input.byte() % 8);
    }
    for (int count = input.byte(); count > 0; --count) arrays.merges.emplace_back(input.take(input.byte() % 16));
    return arrays;
}

// Merges of tokens that are there, each with a token for its result.
Arrays sound_arrays(Input& input) {
    Arrays arrays;
    arrays.tokens = byte_names();
    std::unordered_set<std::string> known(arrays.tokens.begin(), arrays.tokens.end());
    for (int count = input.byte(); count > 0; --count) {
        const std::string left = arrays.tokens[(input.byte() * 2U) % arrays.tokens.size()];
        const std::string right = arrays.tokens[(input.byte() * 2U + 1) % arrays.tokens.size()];
        if (left.size() + right.size() > 64 || !known.insert(left + right).second) continue;
        arrays.tokens.push_back(left + right);
        arrays.merges.push_back(left + " " + right);
    }
    arrays.types.assign(arrays.tokens.size(), 1);
    arrays.tokens.emplace_back("<|im_end|>");
    arrays.types.push_back(3);
    return arrays;
}

void use(const Tokenizer& tokenizer, std::string_view text, bool knows_all_bytes, bool normalises) {
    const Result<std::vector<int32_t>> ids = tokenizer.encode_text(text);
    require(ids || (!knows_all_bytes && !ids.error().message.empty()));
    if (ids) {
        std::string back;
        for (const int32_t id : *ids) back += tokenizer.token_bytes(id);
        require(back == (normalises ? to_nfc(text) : std::string(text)) || !knows_all_bytes);
        (void)decode(tokenizer, *ids);
    }
    (void)tokenizer.encode({{std::string(text), true}, {std::string(text), false}});
}

void check_words(std::string_view text, BpeSplit split) {
    while (!text.empty()) {
        const std::size_t size = first_word(text, split);
        require(size > 0 && size <= text.size());
        text.remove_prefix(size);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    const int kind = input.byte() % 4;
    const BpeSplit split = input.byte() & 1 ? BpeSplit::qwen35 : BpeSplit::qwen2;
    if (kind == 3) {
        const TokenizerResult made = make_bpe_from_json(input.rest(), {}, 0);
        require(made || !made.error().message.empty());
        if (made) use(**made, "text \xFF \xCC\x81", false, false);
        return 0;
    }
    const bool sound = kind != 0;
    const auto small_id = [&] { return static_cast<int32_t>(static_cast<int8_t>(input.byte())); };
    SpecialIds special;
    if (!sound) special = {small_id(), small_id(), small_id(), small_id(), {small_id()}};
    const TokenizerResult made =
        (sound ? sound_arrays(input) : any_arrays(input)).make(split, special, sound ? 0 : input.byte());
    require(made || (!sound && !made.error().message.empty()));
    const std::string_view text = input.rest();
    check_words(text, split);
    require(to_nfc(to_nfc(text)) == to_nfc(text));
    if (made) use(**made, text, sound, true);
    return 0;
}
