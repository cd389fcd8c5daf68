#include "app/chat/chat_input.h"

#include <cstdio>
#include <iostream>
#include <string_view>
#include <utility>

#include "app/terminal/line_editor.h"
#include "app/terminal/terminal_platform.h"

namespace octavo {
namespace {

constexpr std::string_view kBlockMark = "\"\"\"";
constexpr std::string_view kPrompt = "> ";
constexpr std::string_view kBlockPrompt = "... ";
constexpr std::string_view kPasteOn = "\x1b[?2004h";
constexpr std::string_view kPasteOff = "\x1b[?2004l";

std::string as_message(std::string text) { return text.starts_with('/') ? "/" + text : text; }

// Reads one input from `next_line`, which gives a line without its end, or nothing at the end of the input. A block
// that is never closed ends with the input.
template <class NextLine>
std::optional<std::string> read_input(NextLine&& next_line) {
    std::optional<std::string> first = next_line(false);
    if (!first || !first->starts_with(kBlockMark)) return first;
    std::string block = first->substr(kBlockMark.size());
    size_t end = block.find(kBlockMark);
    while (end == std::string::npos) {
        const std::optional<std::string> line = next_line(true);
        if (!line) return as_message(block);
        if (!block.empty()) block += '\n';
        const size_t searched = block.size();
        block += *line;
        end = block.find(kBlockMark, searched);
    }
    return as_message(block.substr(0, end));
}

class PipedInput : public ChatInput {
  public:
    std::optional<std::string> next(const std::string&) override {
        return read_input([](bool) -> std::optional<std::string> {
            std::string line;
            if (!std::getline(std::cin, line)) return std::nullopt;
            if (line.ends_with('\r')) line.pop_back();
            return line;
        });
    }
};

class TerminalInput : public ChatInput {
  public:
    std::optional<std::string> next(const std::string& draft) override {
        raw_.set_interrupt_is_key(true);
        std::optional<std::string> input = read_input([this, &draft](bool in_block) {
            return in_block ? read_line(kBlockPrompt, "") : read_line(kPrompt, draft);
        });
        hand_over_interrupts();
        if (input) editor_.add_to_history(*input);
        return input;
    }

  private:
    std::optional<std::string> read_line(std::string_view prompt, const std::string& draft) {
        put(kPasteOn);
        editor_.begin(draft);
        const bool complete = edit(prompt);
        put(kPasteOff);
        put("\r\n");
        if (!complete) return std::nullopt;
        return editor_.is_pasted_block() ? as_message(editor_.text()) : editor_.text();
    }

    // From here on Ctrl-C stops a reply; one that was pressed right after Enter has come as a key.
    void hand_over_interrupts() {
        (void)InterruptWatch::take();  // older ones were for something else
        raw_.set_interrupt_is_key(false);
        editor_.type_ahead(read_waiting_input_bytes());
        if (editor_.take_interrupt()) InterruptWatch::note();
    }

    // False: the person leaves.
    bool edit(std::string_view prompt) {
        std::string bytes;  // none at first: what was typed ahead is in the editor
        while (true) {
            const LineEditor::Event event = editor_.feed(bytes);
            bytes.clear();
            switch (event) {
                case LineEditor::Event::line: put(editor_.draw(prompt, terminal_columns())); return true;
                case LineEditor::Event::end_of_input: return false;
                case LineEditor::Event::interrupt:
                    editor_.begin("");
                    put("^C  (Ctrl-D or /quit leaves)\r\n");
                    break;
                case LineEditor::Event::clear_screen: put("\x1b[H\x1b[2J"); break;
                case LineEditor::Event::none:
                    put(editor_.draw(prompt, terminal_columns()));
                    bytes = read_input_bytes();
                    if (bytes.empty()) return false;
                    break;
            }
        }
    }

    static void put(std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }

    RawMode raw_;  // also while replies come: what is typed then waits unseen
    LineEditor editor_;
};

}  // namespace

std::unique_ptr<ChatInput> make_terminal_input() { return std::make_unique<TerminalInput>(); }
std::unique_ptr<ChatInput> make_piped_input() { return std::make_unique<PipedInput>(); }

}  // namespace octavo
