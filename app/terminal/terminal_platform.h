// What the operating system offers for a terminal: is one there, how wide is it, keys one by one, Ctrl-C. The only door
// to termios and signals in the program.
//
// Threads: the main thread; an interrupt may arrive on any.
#pragma once

#include <string>

namespace octavo {

enum class Stream { input, output, error };
bool is_terminal(Stream stream);
// A script is at the other end: a pipe or a file (/dev/null, where desktops start programs, is neither).
bool is_piped(Stream stream);

// Of the terminal at standard output; 80 where there is none.
int terminal_columns();

// While it lives, keys reach the program as they are pressed, without echo, also those pressed while it works. Ctrl-C
// still interrupts, unless it is told to be a key. Signals that end the program put the terminal back first. One at a
// time.
class RawMode {
  public:
    RawMode();
    ~RawMode();
    RawMode(const RawMode&) = delete;
    RawMode& operator=(const RawMode&) = delete;

    // true: Ctrl-C arrives as byte 3.
    void set_interrupt_is_key(bool is_key);

  private:
    struct Saved;
    Saved* saved_;  // nullptr where standard input is no terminal
};

// Waits for bytes from standard input, past the buffers of the C library. Empty: the input has ended.
std::string read_input_bytes();
// What is there already, without waiting.
std::string read_waiting_input_bytes();

// While it lives, Ctrl-C does not end the program but is noted for `take`. One at a time.
class InterruptWatch {
  public:
    // Which signals are noted. The ones that end a program are so once: a second one ends it.
    enum class Signals { interrupt, interrupt_and_end };

    explicit InterruptWatch(Signals signals = Signals::interrupt);
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    // Whether there was one since the last call.
    static bool take();
    // As if Ctrl-C had been pressed: for one that arrived as a key.
    static void note();

  private:
    struct Saved;
    Saved* saved_;
};

}  // namespace octavo
