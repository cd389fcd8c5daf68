// Settings by key: what a conversation or the whole program remembers. Each value is a JSON text, so that it can be a
// number, a flag, a text or a list, and so that a value of a newer Octavo survives an older one.
//
// Keys in use for conversations: "model", "kv", "kv_window", "kv_sinks", "rotate", "context", "temperature", "top_k",
// "top_p", "min_p", "repeat_penalty", "seed", "thinking", "system_prompt". For the program: whatever the window needs.
//
// Threads: a value, no shared state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {

class Settings {
  public:
    // Empty where the key is missing or its value of another type: the caller's default holds then.
    std::optional<bool> flag(std::string_view key) const;
    std::optional<int64_t> integer(std::string_view key) const;
    std::optional<double> number(std::string_view key) const;
    std::optional<std::string> text(std::string_view key) const;
    std::optional<std::vector<std::string>> texts(std::string_view key) const;

    void set_flag(const std::string& key, bool value);
    void set_integer(const std::string& key, int64_t value);
    void set_number(const std::string& key, double value);
    void set_text(const std::string& key, const std::string& value);
    void set_texts(const std::string& key, const std::vector<std::string>& value);
    void remove(const std::string& key) { values_.erase(key); }

    // The JSON texts. `set_json` takes any text; what is not JSON reads as missing.
    const std::map<std::string, std::string, std::less<>>& values() const { return values_; }
    void set_json(const std::string& key, const std::string& json) { values_[key] = json; }

    friend bool operator==(const Settings&, const Settings&) = default;

  private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace octavo
