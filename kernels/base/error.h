// The one error type of the project. An expected failure (bad file, out of memory, cancelled, context full) is a
// value with a sentence for a person; `assert` is for our own bugs and never reachable from a file or a user.
//
// Threads: values, no shared state.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace octavo {

enum class ErrorKind {
    usage,         // the request itself is wrong (unknown scheme, window larger than the context)
    input,         // a file or text is broken or unsupported
    io,            // the system refused (no such file, disk full)
    memory,        // not enough memory; the sentence has bytes wanted and bytes free
    device,        // accelerator trouble
    context_full,  // the conversation reached the context length
    cancelled,     // a person stopped the job
};

struct Error {
    ErrorKind kind = ErrorKind::input;
    std::string message;  // one sentence: what, where, what to do
};

// Exit code of a command that ends with this error (see README, "Exit codes").
constexpr int exit_code(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::memory:
        case ErrorKind::device: return 3;
        case ErrorKind::cancelled: return 130;
        default: return 2;
    }
}

// A value or an Error. Test with `if (!result)`, then read `error()` or `*result`.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor): `return value;`
    Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor): `return error;`

    explicit operator bool() const { return std::holds_alternative<T>(state_); }
    T& operator*() & { return std::get<T>(state_); }
    const T& operator*() const& { return std::get<T>(state_); }
    T&& operator*() && { return std::get<T>(std::move(state_)); }
    T* operator->() { return &std::get<T>(state_); }
    const T* operator->() const { return &std::get<T>(state_); }
    const Error& error() const { return std::get<Error>(state_); }

  private:
    std::variant<T, Error> state_;
};

// Success or an Error.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor): `return error;`

    explicit operator bool() const { return !error_.has_value(); }
    const Error& error() const { return *error_; }

  private:
    std::optional<Error> error_;
};

}  // namespace octavo
