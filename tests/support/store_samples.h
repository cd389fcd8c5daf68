// Stores, messages and shorthands for tests of the conversation store.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "app/store/store.h"

namespace octavo {

inline std::unique_ptr<Store> open_store(const StoreOptions& options) {
    Result<std::unique_ptr<Store>> store = Store::open(options);
    if (!store) {
        ADD_FAILURE() << store.error().message;
        return nullptr;
    }
    return std::move(*store);
}

inline std::unique_ptr<Store> open_store(const std::filesystem::path& file) {
    StoreOptions options;
    options.file = file;
    return open_store(options);
}

inline StoredMessage user_message(const std::string& text, int64_t parent_id = 0) {
    StoredMessage message;
    message.role = Role::user;
    message.text = text;
    message.parent_id = parent_id;
    return message;
}

inline StoredMessage reply_message(const std::string& text, int64_t parent_id) {
    StoredMessage message = user_message(text, parent_id);
    message.role = Role::assistant;
    return message;
}

// The value of a Result that should have one; a failure of the test and an empty value otherwise.
template <class T>
T value_of(Result<T> result) {
    if (result) return std::move(*result);
    ADD_FAILURE() << result.error().message;
    return T();
}

// A Status or Result that should be a success.
template <class Outcome>
void expect_ok(const Outcome& outcome) {
    EXPECT_TRUE(outcome) << outcome.error().message;
}

}  // namespace octavo
