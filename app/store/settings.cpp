#include "app/store/settings.h"

#include <nlohmann/json.hpp>

namespace octavo {
namespace {

using nlohmann::json;
using Values = std::map<std::string, std::string, std::less<>>;

json find(const Values& values, std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? json() : json::parse(found->second, nullptr, false);
}

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::optional<bool> Settings::flag(std::string_view key) const {
    const json value = find(values_, key);
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

std::optional<int64_t> Settings::integer(std::string_view key) const {
    const json value = find(values_, key);
    return value.is_number_integer() ? std::optional(value.get<int64_t>()) : std::nullopt;
}

std::optional<double> Settings::number(std::string_view key) const {
    const json value = find(values_, key);
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<std::string> Settings::text(std::string_view key) const {
    const json value = find(values_, key);
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::optional<std::vector<std::string>> Settings::texts(std::string_view key) const {
    const json value = find(values_, key);
    if (!value.is_array()) return std::nullopt;
    std::vector<std::string> texts;
    for (const json& entry : value) {
        if (!entry.is_string()) return std::nullopt;
        texts.push_back(entry.get<std::string>());
    }
    return texts;
}

void Settings::set_flag(const std::string& key, bool value) { values_[key] = dump(value); }
void Settings::set_integer(const std::string& key, int64_t value) { values_[key] = dump(value); }
void Settings::set_number(const std::string& key, double value) { values_[key] = dump(value); }
void Settings::set_text(const std::string& key, const std::string& value) { values_[key] = dump(value); }
void Settings::set_texts(const std::string& key, const std::vector<std::string>& value) { values_[key] = dump(value); }

}  // namespace octavo
