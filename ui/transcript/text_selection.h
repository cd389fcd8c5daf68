// What is selected in the transcript: from one place to another, over any number of messages.
//
// Threads: values.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>

#include "ui/transcript/block_column.h"

namespace octavo {

enum class MessageSection { thinking, text };

struct TextPlace {
    size_t message = 0;  // its index
    MessageSection section = MessageSection::text;
    BlockPosition position;
    auto operator<=>(const TextPlace&) const = default;
};

struct TextSelection {
    TextPlace anchor;  // where it began
    TextPlace focus;   // where the mouse is

    bool empty() const { return anchor == focus; }
    const TextPlace& begin() const { return anchor < focus ? anchor : focus; }
    const TextPlace& end() const { return anchor < focus ? focus : anchor; }

    // The part that lies in one section of one message, whose whole is `all`.
    std::optional<BlockRange> part(size_t message, MessageSection section, const BlockRange& all) const {
        const auto before = [&](const TextPlace& place) {
            return place.message < message || (place.message == message && place.section < section);
        };
        const auto after = [&](const TextPlace& place) {
            return place.message > message || (place.message == message && place.section > section);
        };
        if (empty() || after(begin()) || before(end())) return {};
        return BlockRange{before(begin()) ? all.begin : begin().position, after(end()) ? all.end : end().position};
    }
};

}  // namespace octavo
