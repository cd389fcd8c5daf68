#include "models/tokenizer/tokenizer_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/tensors/quote_name.h"
#include "models/tokenizer/bpe_tokenizer.h"

namespace octavo {
namespace {

using Json = nlohmann::json;

constexpr int64_t max_id = 1 << 20;
// As GGUF numbers them.
constexpr int32_t type_normal = 1;
constexpr int32_t type_control = 3;
constexpr int32_t type_user_defined = 4;
constexpr int32_t type_unused = 5;

Error unsupported(std::string_view what) {
    return {ErrorKind::input, fmt::format("tokenizer.json: {}, which is not supported.", what)};
}
Error broken(std::string_view what) { return {ErrorKind::input, fmt::format("tokenizer.json: {}.", what)}; }

// Null where `object` is no object or lacks the key.
const Json& at(const Json& object, const char* key) {
    static const Json none;
    if (!object.is_object()) return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

bool is_text(const Json& value, std::string_view text) {
    return value.is_string() && value.get_ref<const std::string&>() == text;
}

// The arrays of a BpeSource, owned.
class Reader {
  public:
    explicit Reader(const Json& json) : json_(json) {}

    Status read() {
        for (const auto step : {&Reader::check_model, &Reader::read_normaliser, &Reader::read_split,
                                &Reader::read_vocab, &Reader::read_added, &Reader::read_merges})
            if (Status status = (this->*step)(); !status) return status;
        return {};
    }

    Result<std::shared_ptr<const Tokenizer>> make(const SpecialIds& special, int32_t vocab_size) const {
        const std::vector<std::string_view> tokens(tokens_.begin(), tokens_.end());
        const std::vector<std::string_view> merges(merges_.begin(), merges_.end());
        return make_bpe_tokenizer({tokens,
                                   types_,
                                   merges,
                                   split_,
                                   normalises_,
                                   special,
                                   vocab_size,
                                   {"model.vocab", "added_tokens", "model.merges"}});
    }

  private:
    Status check_model() {
        const Json& model = at(json_, "model");
        if (!model.is_object()) return broken("there is no object 'model'");
        if (const Json& type = at(model, "type"); !type.is_null() && !is_text(type, "BPE"))
            return unsupported(fmt::format("the model is of type {}", type.dump()));
        for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                                "byte_fallback", "ignore_merges"}) {
            const Json& value = at(model, key);
            const bool plain = value.is_null() || value == false || is_text(value, "");
            if (!plain) return unsupported(fmt::format("model.{} is {}", key, value.dump()));
        }
        return {};
    }

    Status read_normaliser() {
        const Json& normaliser = at(json_, "normalizer");
        normalises_ = is_text(at(normaliser, "type"), "NFC");
        if (normalises_ || normaliser.is_null()) return {};
        return unsupported(fmt::format("the normalizer is of type {}", at(normaliser, "type").dump()));
    }

    // [Split by a known expression, ByteLevel that adds nothing].
    Status read_split() {
        const Json& steps = at(at(json_, "pre_tokenizer"), "pretokenizers");
        if (!steps.is_array() || steps.size() != 2 || !is_text(at(steps[0], "type"), "Split") ||
            !is_text(at(steps[1], "type"), "ByteLevel"))
            return unsupported("the pre_tokenizer is not a Split followed by ByteLevel");
        if (!is_text(at(steps[0], "behavior"), "Isolated") || at(steps[0], "invert") == true ||
            at(steps[1], "add_prefix_space") != false || at(steps[1], "use_regex") != false)
            return unsupported("the pre_tokenizer splits in an unusual way");
        const Json& pattern = at(at(steps[0], "pattern"), "Regex");
        const auto split =
            pattern.is_string() ? find_bpe_split_by_pattern(pattern.get_ref<const std::string&>()) : std::nullopt;
        if (!split)
            return unsupported(
                fmt::format("the pre_tokenizer splits text by {} (known: the rules of Qwen2 to Qwen3 and of Qwen3.5)",
                            quote_name(pattern.dump())));
        split_ = *split;
        return {};
    }

    Status set_token(const Json& id, const std::string& name, int32_t type) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() >= static_cast<uint64_t>(max_id))
            return broken(fmt::format("the token {} has the id {}", quote_name(name), id.dump()));
        const auto index = id.get<std::size_t>();
        if (index >= tokens_.size()) {
            tokens_.resize(index + 1);
            types_.resize(index + 1, type_unused);
        }
        if (types_[index] != type_unused && tokens_[index] != name)
            return broken(fmt::format("the tokens {} and {} both have the id {}", quote_name(tokens_[index]),
                                      quote_name(name), index));
        tokens_[index] = name;
        types_[index] = type;
        return {};
    }

    Status read_vocab() {
        const Json& vocab = at(at(json_, "model"), "vocab");
        if (!vocab.is_object()) return broken("there is no object 'model.vocab'");
        for (const auto& [name, id] : vocab.items())
            if (Status status = set_token(id, name, type_normal); !status) return status;
        return {};
    }

    Status read_added() {
        const Json& added = at(json_, "added_tokens");
        if (added.is_null()) return {};
        if (!added.is_array()) return broken("'added_tokens' is no array");
        for (const Json& token : added) {
            const Json& content = at(token, "content");
            if (!content.is_string()) return broken("an added token has no text in 'content'");
            const auto& name = content.get_ref<const std::string&>();
            for (const char* key : {"single_word", "lstrip", "rstrip"})
                if (at(token, key) == true)
                    return unsupported(fmt::format("the added token {} has '{}'", quote_name(name), key));
            const int32_t type = at(token, "special") == true ? type_control : type_user_defined;
            if (Status status = set_token(at(token, "id"), name, type); !status) return status;
        }
        return {};
    }

    // "left right", or ["left", "right"].
    Status read_merges() {
        const Json& merges = at(at(json_, "model"), "merges");
        if (!merges.is_array()) return broken("there is no array 'model.merges'");
        merges_.reserve(merges.size());
        for (const Json& merge : merges) {
            if (merge.is_string()) {
                merges_.push_back(merge);
            } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
                merges_.push_back(fmt::format("{} {}", merge[0].get_ref<const std::string&>(),
                                              merge[1].get_ref<const std::string&>()));
            } else {
                return broken(fmt::format("merge {} is not two tokens", merges_.size()));
            }
        }
        return {};
    }

    const Json& json_;
    std::vector<std::string> tokens_;
    std::vector<int32_t> types_;
    std::vector<std::string> merges_;
    BpeSplit split_ = BpeSplit::qwen2;
    bool normalises_ = false;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_bpe_from_json(std::string_view json, const SpecialIds& special,
                                                            int32_t vocab_size) {
    const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object()) return broken("this is not a JSON object");
    Reader reader(parsed);
    if (Status status = reader.read(); !status) return status.error();
    return reader.make(special, vocab_size);
}

}  // namespace octavo
