#include "models/tokenizer/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <algorithm>
#include <new>
#include <utility>

#include "models/tokenizer/sentencepiece_proto.h"
#include "models/tokenizer/sentencepiece_vocabulary.h"
#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

// Long text is encoded in pieces of about this many bytes: the library's queue then stays in the cache.
constexpr std::size_t chunk_bytes = 4096;
// The library needs about 150 bytes of memory for a byte that it is given at once.
constexpr std::size_t max_run_bytes = 8 << 20;

Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }

class SentencePieceTokenizer final : public Tokenizer {
  public:
    explicit SentencePieceTokenizer(SentencePieceVocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

    Status load() {
        const sentencepiece::util::Status status = library_.LoadFromSerializedProto(vocabulary_.model);
        if (!status.ok())
            return input_error(fmt::format("SentencePiece refuses the vocabulary: {}.", status.error_message()));
        vocabulary_.model = {};
        return {};
    }

    int vocab_size() const override { return static_cast<int>(vocabulary_.bytes.size()); }
    std::string family() const override { return "SentencePiece BPE"; }

    Result<std::vector<int32_t>> encode(const std::vector<PromptPart>& parts) const override {
        try {
            Result<std::vector<PromptStretch>> stretches = cut_prompt(parts, vocabulary_.specials, vocab_size());
            if (!stretches) return stretches.error();
            std::vector<int32_t> ids;
            for (const PromptStretch& stretch : *stretches) {
                ids.insert(ids.end(), stretch.ids.begin(), stretch.ids.end());
                if (Status status = encode_stretch(stretch.text, ids); !status) return status.error();
            }
            return ids;
        } catch (const std::bad_alloc&) {
            return Error{ErrorKind::memory, "There is not enough memory to turn the text into tokens."};
        }
    }

    std::string token_bytes(int32_t id) const override { return has(id) ? vocabulary_.bytes[id] : std::string(); }
    std::string special_name(int32_t id) const override { return has(id) ? vocabulary_.names[id] : std::string(); }
    int32_t special_id(std::string_view name) const override { return vocabulary_.specials.find(name); }
    const std::vector<int32_t>& stop_ids() const override { return vocabulary_.stop_ids; }

  private:
    bool has(int32_t id) const { return id >= 0 && id < vocab_size(); }

    // Text between two special tokens.
    Status encode_stretch(std::string_view text, std::vector<int32_t>& ids) const {
        if (text.empty()) return {};
        std::string prefixed;
        if (vocabulary_.add_space_prefix) text = prefixed.append(" ").append(text);
        // Runs end at inseparable tokens and at bytes that are no UTF-8.
        std::size_t start = 0;
        std::size_t at = 0;
        const auto end_run = [&] { return encode_run(text.substr(start, at - start), ids); };
        while (at < text.size()) {
            const TokenMatcher::Match match = vocabulary_.inseparable.match(text.substr(at));
            const Utf8Step step = read_utf8(text.substr(at));
            if (match.id < 0 && step.kind == Utf8Step::Kind::character) {
                at += step.bytes;
                continue;
            }
            if (Status status = end_run(); !status) return status;
            if (match.id >= 0) {
                ids.push_back(match.id);
                at += match.bytes;
            } else {
                if (Status status = encode_bytes(text.substr(at, step.bytes), ids); !status) return status;
                at += step.bytes;
            }
            start = at;
        }
        return end_run();
    }

    Status encode_bytes(std::string_view bytes, std::vector<int32_t>& ids) const {
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            if (vocabulary_.byte_ids.empty())
                return input_error(fmt::format(
                    "The text has a byte (0x{:02X}) that is not UTF-8, and this model's vocabulary has no byte tokens.",
                    byte));
            ids.push_back(vocabulary_.byte_ids[byte]);
        }
        return {};
    }

    // Valid UTF-8 without special or inseparable tokens.
    Status encode_run(std::string_view text, std::vector<int32_t>& ids) const {
        while (!text.empty()) {
            const std::size_t size = chunk_size(text);
            if (size > max_run_bytes)
                return input_error(fmt::format(
                    "The text has a stretch of {} bytes that cannot be tokenized in parts; at most {} are supported.",
                    size, max_run_bytes));
            if (Status status = encode_chunk(text.substr(0, size), ids); !status) return status;
            text.remove_prefix(size);
        }
        return {};
    }

    // The first place after chunk_bytes that no merge can reach across; the whole text if there is none.
    std::size_t chunk_size(std::string_view text) const {
        if (!vocabulary_.can_cut_text || text.size() <= chunk_bytes) return text.size();
        const auto escaped = [](char32_t c) { return c == U' ' ? U'\u2581' : c; };
        std::size_t at = chunk_bytes;
        while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
        char32_t left = 0;
        for (bool first = true; at < text.size(); first = false) {
            const Utf8Step step = read_utf8(text.substr(at));
            const char32_t right = escaped(step.character);
            if (!first && !vocabulary_.pairs.may_contain(left, right)) return at;
            left = right;
            at += step.bytes;
        }
        return text.size();
    }

    Status encode_chunk(std::string_view text, std::vector<int32_t>& ids) const {
        std::vector<int> encoded;
        const sentencepiece::util::Status status = library_.Encode({text.data(), text.size()}, &encoded);
        if (!status.ok())
            return input_error(fmt::format("SentencePiece could not encode the text: {}.", status.error_message()));
        if (std::find(encoded.begin(), encoded.end(), vocabulary_.unknown_id) != encoded.end())
            return unknown_character(text);
        ids.insert(ids.end(), encoded.begin(), encoded.end());
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

    SentencePieceVocabulary vocabulary_;
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
