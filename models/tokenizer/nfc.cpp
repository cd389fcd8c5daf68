#include "models/tokenizer/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/tokenizer/utf8.h"

namespace octavo {
namespace {

// Characters below this one neither change nor join what is before them.
constexpr char32_t first_unstable = 0x300;
constexpr unsigned char first_unstable_lead = 0xCC;  // its first byte in UTF-8

using Characters = std::vector<utf8proc_int32_t>;

uint8_t combining_class(utf8proc_int32_t c) { return static_cast<uint8_t>(utf8proc_get_property(c)->combining_class); }

void add_decomposed(Characters& out, utf8proc_int32_t c) {
    constexpr std::size_t longest = 32;  // canonical decompositions have 4 characters at most
    std::array<utf8proc_int32_t, longest> parts{};
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    const utf8proc_ssize_t count = utf8proc_decompose_char(c, parts.data(), longest, options, nullptr);
    if (count <= 0 || static_cast<std::size_t>(count) > longest) {
        out.push_back(c);
        return;
    }
    out.insert(out.end(), parts.begin(), parts.begin() + count);
}

// The library's own ordering takes quadratic time on long rows of marks.
void order_marks(Characters& text) {
    for (std::size_t at = 0; at < text.size();) {
        if (combining_class(text[at]) == 0) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && combining_class(text[end]) != 0) ++end;
        std::stable_sort(
            text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end),
            [](utf8proc_int32_t a, utf8proc_int32_t b) { return combining_class(a) < combining_class(b); });
        at = end;
    }
}

// Decomposed and ordered characters, composed and written.
void add_composed(std::string& out, Characters& text) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const utf8proc_ssize_t count =
        utf8proc_normalize_utf32(text.data(), static_cast<utf8proc_ssize_t>(text.size()), options);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
        std::array<utf8proc_uint8_t, 4> bytes{};
        const utf8proc_ssize_t size = utf8proc_encode_char(text[static_cast<std::size_t>(i)], bytes.data());
        out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
    }
    text.clear();
}

// Text is normalised in parts, from the stable character before an unstable one to the next stable one.
class Normaliser {
  public:
    std::string run(std::string_view text) {
        while (!text.empty()) {
            const Utf8Step step = read_utf8(text);
            const std::string_view bytes = text.substr(0, static_cast<std::size_t>(step.bytes));
            if (step.kind == Utf8Step::Kind::character) {
                add(step.character, bytes);
            } else {
                flush();
                out_ += bytes;
            }
            text.remove_prefix(bytes.size());
        }
        flush();
        return std::move(out_);
    }

  private:
    void add(char32_t character, std::string_view bytes) {
        if (character >= first_unstable) {
            if (has_stable_) add_decomposed(waiting_, static_cast<utf8proc_int32_t>(stable_));
            has_stable_ = false;
            add_decomposed(waiting_, static_cast<utf8proc_int32_t>(character));
            return;
        }
        flush();
        has_stable_ = true;
        stable_ = character;
        stable_bytes_ = bytes;
    }

    // What waits can no longer change.
    void flush() {
        if (!waiting_.empty()) {
            order_marks(waiting_);
            add_composed(out_, waiting_);
        }
        if (has_stable_) out_ += stable_bytes_;
        has_stable_ = false;
    }

    std::string out_;
    Characters waiting_;       // decomposed
    bool has_stable_ = false;  // a stable character, which what follows may join
    char32_t stable_ = 0;
    std::string_view stable_bytes_;
};

}  // namespace

bool may_need_nfc(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) >= first_unstable_lead; });
}

std::string to_nfc(std::string_view text) {
    if (!may_need_nfc(text)) return std::string(text);
    return Normaliser().run(text);
}

}  // namespace octavo
