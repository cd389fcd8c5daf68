#include "models/tokenizer/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/tokenizer/bpe_vocabulary.h"
#include "models/tokenizer/nfc.h"
#include "models/tokenizer/vocabulary_tokenizer.h"

namespace octavo {
namespace {

// Text repeats its words; of those up to this length the tokens are remembered.
constexpr std::size_t max_known_word_bytes = 48;
// Places in a word are counted in 32 bits.
constexpr std::size_t max_text_bytes = 1 << 30;

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

// Encodes the stretches of one prompt. The views of its memory point into them.
class Encoder {
  public:
    Encoder(const BpeVocabulary& vocabulary, BpeSplit split, bool normalises)
        : vocabulary_(vocabulary), split_(split), normalises_(normalises) {}

    Status add(const PromptStretch& stretch) {
        ids_.insert(ids_.end(), stretch.ids.begin(), stretch.ids.end());
        if (stretch.text.size() > max_text_bytes)
            return input_error(fmt::format("The text has {} bytes; at most {} can be turned into tokens at once.",
                                           stretch.text.size(), max_text_bytes));
        if (normalises_ && may_need_nfc(stretch.text)) return add_text(normalised_.emplace_back(to_nfc(stretch.text)));
        return add_text(stretch.text);
    }

    std::vector<int32_t> take() { return std::move(ids_); }

  private:
    Status add_text(std::string_view text) {
        while (!text.empty()) {
            const std::string_view word = text.substr(0, first_word(text, split_));
            if (Status status = word.size() <= max_known_word_bytes ? add_known(word) : add_word(word); !status)
                return status;
            text.remove_prefix(word.size());
        }
        return {};
    }

    Status add_known(std::string_view word) {
        const auto [known, is_new] = words_.try_emplace(word);
        if (!is_new) {
            for (uint32_t i = 0; i < known->second.count; ++i) ids_.push_back(ids_[known->second.first + i]);
            return {};
        }
        const std::size_t first = ids_.size();
        if (Status status = add_word(word); !status) return status;
        known->second = {first, static_cast<uint32_t>(ids_.size() - first)};
        return {};
    }

    Status add_word(std::string_view word) {
        const std::size_t first = ids_.size();
        for (const char c : word) {
            const auto byte = static_cast<unsigned char>(c);
            const int32_t id = vocabulary_.byte_ids[byte];
            if (id < 0)
                return input_error(
                    fmt::format("This model's vocabulary cannot express the byte 0x{:02X} of the text.", byte));
            ids_.push_back(id);
        }
        merge_tokens(vocabulary_.merges, ids_, first);
        return {};
    }

    // Where in ids_ the tokens of a word stand.
    struct Place {
        std::size_t first = 0;
        uint32_t count = 0;
    };

    const BpeVocabulary& vocabulary_;
    BpeSplit split_;
    bool normalises_;
    std::vector<int32_t> ids_;
    std::unordered_map<std::string_view, Place> words_;
    std::deque<std::string> normalised_;
};

class BpeTokenizer final : public VocabularyTokenizer<BpeVocabulary> {
  public:
    BpeTokenizer(BpeVocabulary vocabulary, BpeSplit split, bool normalises)
        : VocabularyTokenizer(std::move(vocabulary)), split_(split), normalises_(normalises) {}

    std::string family() const override { return "byte-level BPE"; }

    Result<std::vector<int32_t>> encode(const std::vector<PromptPart>& parts) const override {
        return encode_with(parts, [&] { return Encoder(vocabulary_, split_, normalises_); });
    }

  private:
    BpeSplit split_;
    bool normalises_;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_bpe_tokenizer(const BpeSource& source) {
    try {
        Result<BpeVocabulary> vocabulary = build_bpe_vocabulary(source);
        if (!vocabulary) return vocabulary.error();
        return std::shared_ptr<const Tokenizer>(
            std::make_shared<BpeTokenizer>(*std::move(vocabulary), source.split, source.normalises));
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::memory,
                     fmt::format("There is not enough memory for a vocabulary of {} tokens.", source.tokens.size())};
    }
}

}  // namespace octavo
