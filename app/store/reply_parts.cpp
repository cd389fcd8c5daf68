#include "app/store/reply_parts.h"

#include <string>
#include <vector>

namespace octavo {
namespace {

constexpr size_t kIdBytes = 4;

}  // namespace

std::vector<std::byte> pack_ids(const std::vector<int32_t>& ids) {
    std::vector<std::byte> bytes;
    bytes.reserve(ids.size() * kIdBytes);
    for (const int32_t id : ids)
        for (size_t i = 0; i < kIdBytes; ++i)
            bytes.push_back(static_cast<std::byte>(static_cast<uint32_t>(id) >> (8 * i)));
    return bytes;
}

std::vector<int32_t> unpack_ids(std::span<const std::byte> bytes) {
    std::vector<int32_t> ids(bytes.size() / kIdBytes);
    for (size_t at = 0; at < ids.size(); ++at) {
        uint32_t id = 0;
        for (size_t i = 0; i < kIdBytes; ++i) id |= static_cast<uint32_t>(bytes[at * kIdBytes + i]) << (8 * i);
        ids[at] = static_cast<int32_t>(id);
    }
    return ids;
}

Status add_reply_part(const Database& database, int64_t message_id, const ReplyPart& part) {
    return database.run("INSERT INTO reply_parts (message_id, text, thinking, ids) VALUES (?, ?, ?, ?)", message_id,
                        part.text, part.thinking, std::span<const std::byte>(pack_ids(part.ids)));
}

Result<ReplyPart> read_reply_parts(const Database& database, int64_t message_id) {
    ReplyPart whole;
    const Status read = database.each_row(
        "SELECT text, thinking, ids FROM reply_parts WHERE message_id = ? ORDER BY id",
        [&](const Statement& row) {
            whole.text += row.text(0);
            whole.thinking += row.text(1);
            const std::vector<int32_t> ids = unpack_ids(row.bytes(2));
            whole.ids.insert(whole.ids.end(), ids.begin(), ids.end());
        },
        message_id);
    if (!read) return read.error();
    return whole;
}

Status finish_interrupted_replies(const Database& database) {
    std::vector<int64_t> interrupted;
    if (const Status read = database.each_row("SELECT id FROM messages WHERE state = 'streaming'",
                                              [&](const Statement& row) { interrupted.push_back(row.integer(0)); });
        !read)
        return read;
    for (const int64_t id : interrupted) {
        const Result<ReplyPart> whole = read_reply_parts(database, id);
        if (!whole) return whole.error();
        if (const Status done =
                database.run("UPDATE messages SET state = 'stopped', text = ?, thinking = ?, ids = ? WHERE id = ?",
                             whole->text, whole->thinking, std::span<const std::byte>(pack_ids(whole->ids)), id);
            !done)
            return done;
        if (const Status done = database.run("DELETE FROM reply_parts WHERE message_id = ?", id); !done) return done;
    }
    return {};
}

}  // namespace octavo
