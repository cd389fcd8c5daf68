#include "models/tokenizer/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <algorithm>
#include <deque>
#include <new>
#include <unordered_map>
#include <utility>

#include "models/tokenizer/sentencepiece_proto.h"
#include "models/tokenizer/sentencepiece_vocabulary.h"
#include "models/tokenizer/utf8.h"
#include "models/tokenizer/vocabulary_tokenizer.h"

namespace octavo {
namespace {

// Long text is encoded in pieces of about this many bytes: the library's queue then stays in the cache.
constexpr std::size_t chunk_bytes = 4096;
constexpr std::size_t max_word_bytes = 64;
// The library needs about 150 bytes of memory for a byte that it is given at once.
constexpr std::size_t max_run_bytes = 8 << 20;

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

// Encodes the stretches of one prompt. The views of its memory point into them.
class Encoder {
  public:
    Encoder(const SentencePieceVocabulary& vocabulary, const sentencepiece::SentencePieceProcessor& library)
        : vocabulary_(vocabulary), library_(library) {}

    Status add(const PromptStretch& stretch) {
        ids_.insert(ids_.end(), stretch.ids.begin(), stretch.ids.end());
        if (stretch.text.empty()) return {};
        if (!vocabulary_.add_space_prefix) return add_text(stretch.text);
        return add_text(prefixed_.emplace_back(" " + stretch.text));
    }

    std::vector<int32_t> take() { return std::move(ids_); }

  private:
    // Text between two special tokens.
    Status add_text(std::string_view text) {
        // Runs end at inseparable tokens and at bytes that are no UTF-8.
        std::size_t start = 0;
        std::size_t at = 0;
        const auto end_run = [&] { return add_run(text.substr(start, at - start)); };
        while (at < text.size()) {
            const TokenMatcher::Match match = vocabulary_.inseparable.match(text.substr(at));
            const Utf8Step step = read_utf8(text.substr(at));
            if (match.id < 0 && step.kind == Utf8Step::Kind::character) {
                at += step.bytes;
                continue;
            }
            if (Status status = end_run(); !status) return status;
            if (match.id >= 0) {
                ids_.push_back(match.id);
                at += match.bytes;
            } else {
                if (Status status = add_bytes(text.substr(at, step.bytes)); !status) return status;
                at += step.bytes;
            }
            start = at;
        }
        return end_run();
    }

    Status add_bytes(std::string_view bytes) {
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            if (vocabulary_.byte_ids.empty())
                return input_error(fmt::format(
                    "The text has a byte (0x{:02X}) that is not UTF-8, and this model's vocabulary has no byte tokens.",
                    byte));
            ids_.push_back(vocabulary_.byte_ids[byte]);
        }
        return {};
    }

    // Valid UTF-8 without special or inseparable tokens.
    Status add_run(std::string_view text) {
        while (!text.empty()) {
            const std::size_t word = word_size(text);
            const std::size_t size = word > 0 ? word : chunk_size(text);
            if (size > max_run_bytes)
                return input_error(fmt::format(
                    "The text has a stretch of {} bytes that cannot be tokenized in parts; at most {} are supported.",
                    size, max_run_bytes));
            const std::string_view part = text.substr(0, size);
            if (Status status = word > 0 ? add_word(part) : add_chunk(part); !status) return status;
            text.remove_prefix(size);
        }
        return {};
    }

    bool can_cut(char32_t left, char32_t right) const {
        const auto escaped = [](char32_t c) { return c == U' ' ? U'\u2581' : c; };
        return vocabulary_.can_cut_text && !vocabulary_.pairs.may_contain(escaped(left), escaped(right));
    }

    // Where the next space may be cut off from what is before it; 0 if that is not near.
    std::size_t word_size(std::string_view text) const {
        if (!vocabulary_.can_cut_text) return 0;
        char32_t left = 0;
        for (std::size_t at = 0; at <= max_word_bytes;) {
            if (at == text.size()) return at;
            const Utf8Step step = read_utf8(text.substr(at));
            if (at > 0 && step.character == U' ' && can_cut(left, U' ')) return at;
            left = step.character;
            at += step.bytes;
        }
        return 0;
    }

    // Text repeats its words; each is given to the library once.
    Status add_word(std::string_view word) {
        const auto [known, is_new] = words_.try_emplace(word);
        if (!is_new) {
            for (uint32_t i = 0; i < known->second.count; ++i) ids_.push_back(ids_[known->second.first + i]);
            return {};
        }
        const std::size_t first = ids_.size();
        if (Status status = add_chunk(word); !status) return status;
        known->second = {first, static_cast<uint32_t>(ids_.size() - first)};
        return {};
    }

    // The first place after chunk_bytes that no merge can reach across; the whole text if there is none.
    std::size_t chunk_size(std::string_view text) const {
        if (text.size() <= chunk_bytes) return text.size();
        std::size_t at = chunk_bytes;
        while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
        char32_t left = 0;
        for (bool first = true; at < text.size(); first = false) {
            const Utf8Step step = read_utf8(text.substr(at));
            if (!first && can_cut(left, step.character)) return at;
            left = step.character;
            at += step.bytes;
        }
        return text.size();
    }

    Status add_chunk(std::string_view text) {
        std::vector<int> encoded;
        const sentencepiece::util::Status status = library_.Encode({text.data(), text.size()}, &encoded);
        if (!status.ok())
            return input_error(fmt::format("SentencePiece could not encode the text: {}.", status.error_message()));
        if (std::find(encoded.begin(), encoded.end(), vocabulary_.unknown_id) != encoded.end())
            return unknown_character(text);
        ids_.insert(ids_.end(), encoded.begin(), encoded.end());
        return {};
    }

    Error unknown_character(std::string_view text) const {
        std::vector<std::string> pieces;
        std::string character;
        std::string before;
        if (library_.Encode({text.data(), text.size()}, &pieces).ok()) {
            auto piece = pieces.begin();
            while (piece != pieces.end() && library_.PieceToId(*piece) != vocabulary_.unknown_id) ++piece;
            if (piece != pieces.begin()) before = *(piece - 1);
            if (piece != pieces.end()) character = piece->substr(0, read_utf8(*piece).bytes);
        }
        return input_error(fmt::format("This model's vocabulary cannot express the character \"{}\" (U+{:04X}){}.",
                                       character, static_cast<uint32_t>(read_utf8(character).character),
                                       before.empty() ? "" : fmt::format(", which follows \"{}\"", before)));
    }

    // Where in ids_ the tokens of a word stand.
    struct Place {
        std::size_t first = 0;
        uint32_t count = 0;
    };

    const SentencePieceVocabulary& vocabulary_;
    const sentencepiece::SentencePieceProcessor& library_;
    std::vector<int32_t> ids_;
    std::unordered_map<std::string_view, Place> words_;
    std::deque<std::string> prefixed_;
};

class SentencePieceTokenizer final : public VocabularyTokenizer<SentencePieceVocabulary> {
  public:
    using VocabularyTokenizer::VocabularyTokenizer;

    Status load() {
        const sentencepiece::util::Status status = library_.LoadFromSerializedProto(vocabulary_.model);
        if (!status.ok())
            return input_error(fmt::format("SentencePiece refuses the vocabulary: {}.", status.error_message()));
        vocabulary_.model = {};
        return {};
    }

    std::string family() const override { return "SentencePiece BPE"; }

    Result<std::vector<int32_t>> encode(const std::vector<PromptPart>& parts) const override {
        return encode_with(parts, [&] { return Encoder(vocabulary_, library_); });
    }

  private:
    sentencepiece::SentencePieceProcessor library_;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> make_sentencepiece(const SentencePieceSource& source) {
    try {
        Result<SentencePieceVocabulary> vocabulary = build_vocabulary(source);
        if (!vocabulary) return vocabulary.error();
        auto tokenizer = std::make_shared<SentencePieceTokenizer>(*std::move(vocabulary));
        if (Status status = tokenizer->load(); !status) return status.error();
        return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::memory,
                     fmt::format("There is not enough memory for a vocabulary of {} tokens.", source.tokens.size())};
    }
}

Result<std::shared_ptr<const Tokenizer>> make_sentencepiece(std::string_view model, const SpecialIds& special) {
    const Result<SentencePieceModel> read = read_sentencepiece_model(model);
    if (!read) return read.error();
    return make_sentencepiece({read->tokens, read->scores, read->types, special, read->add_space_prefix});
}

}  // namespace octavo
