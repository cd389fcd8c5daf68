// How fast a model's tokenizer turns a text into tokens and back, on one core.
//
//   tokenizer_bench MODEL TEXT_FILE [REPEATS]
//
// MODEL is a GGUF file (a vocabulary alone will do) or a folder with a tokenizer. Besides the text as it is, its bytes
// without white space are timed: one word as long as the text, where a slow algorithm shows.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "models/model_text.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool bench(const octavo::Tokenizer& tokenizer, const std::string& name, const std::string& text, int repeats) {
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    std::vector<double> encode_seconds;
    std::vector<int32_t> ids;
    for (int i = 0; i < repeats; ++i) {
        const Clock::time_point start = Clock::now();
        const auto encoded = tokenizer.encode_text(text);
        encode_seconds.push_back(seconds_since(start));
        if (!encoded) {
            fmt::print(stderr, "{}\n", encoded.error().message);
            return false;
        }
        ids = *encoded;
    }
    const Clock::time_point start = Clock::now();
    const std::string back = octavo::decode(tokenizer, ids);
    const double decode_seconds = seconds_since(start);
    std::sort(encode_seconds.begin(), encode_seconds.end());
    const double median = encode_seconds[encode_seconds.size() / 2];
    fmt::print(
        "{}: {:.1f} MB, {} tokens; encode {:.1f} MB/s (median of {}; {:.1f} to {:.1f}), decode {:.1f} MB/s, {}\n", name,
        megabytes, ids.size(), megabytes / median, repeats, megabytes / encode_seconds.back(),
        megabytes / encode_seconds.front(), megabytes / decode_seconds,
        back == text ? "comes back" : "does not come back (normalised, or no UTF-8)");
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        fmt::print(stderr, "usage: tokenizer_bench MODEL TEXT_FILE [REPEATS]\n");
        return 2;
    }
    std::ifstream in(argv[2], std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    const auto model = octavo::open_model_text(std::filesystem::path(argv[1]));
    if (!model || !(*model)->tokenizer || text.empty()) {
        fmt::print(stderr, "{}\n",
                   !model         ? model.error().message
                   : text.empty() ? "no text"
                                  : (*model)->tokenizer_error);
        return 2;
    }
    const int repeats = argc > 3 ? std::max(1, std::atoi(argv[3])) : 5;
    const octavo::Tokenizer& tokenizer = *(*model)->tokenizer;
    if (!bench(tokenizer, "text", text, repeats)) return 1;
    std::string letters;
    for (const char c : text)
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) letters += c;
    return letters.empty() || bench(tokenizer, "its letters as one word", letters, repeats) ? 0 : 1;
}
