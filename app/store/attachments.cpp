#include "app/store/attachments.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "kernels/base/fnv_hash.h"

namespace octavo {
namespace {

struct OwnerTable {
    const char* table;
    const char* column;
};

OwnerTable table_of(AttachmentOwner::Kind kind) {
    return kind == AttachmentOwner::Kind::message ? OwnerTable{"message_attachments", "message_id"}
                                                  : OwnerTable{"draft_attachments", "conversation_id"};
}

// Only narrows the search; texts of equal hash are compared whole.
int64_t hash_of(std::string_view text) {
    FnvHash hash;
    hash.bytes(std::as_bytes(std::span(text)));
    return static_cast<int64_t>(hash.value());
}

Result<int64_t> store_text(const Database& database, const std::string& text) {
    const int64_t hash = hash_of(text);
    const Result<int64_t> known = database.value("SELECT id FROM attachments WHERE hash = ? AND text = ?", hash, text);
    if (!known || *known != 0) return known;
    if (const Status done = database.run("INSERT INTO attachments (hash, text) VALUES (?, ?)", hash, text); !done)
        return done.error();
    return database.last_row_id();
}

}  // namespace

Status add_attachments(const Database& database, AttachmentOwner owner, const std::vector<Attachment>& attachments) {
    const OwnerTable place = table_of(owner.kind);
    for (const Attachment& attachment : attachments) {
        const Result<int64_t> text = store_text(database, attachment.text);
        if (!text) return text.error();
        const std::string sql =
            fmt::format("INSERT INTO {} ({}, attachment_id, name) VALUES (?, ?, ?)", place.table, place.column);
        if (const Status done = database.run(std::string_view(sql), owner.id, *text, attachment.name); !done)
            return done;
    }
    return {};
}

Status read_attachments(const Database& database, AttachmentOwner owner, std::vector<Attachment>& attachments) {
    const OwnerTable place = table_of(owner.kind);
    return database.each_row(
        fmt::format("SELECT {0}.name, text FROM {0} JOIN attachments ON attachments.id = attachment_id "
                    "WHERE {1} = ? ORDER BY {0}.id",
                    place.table, place.column),
        [&](const Statement& row) {
            attachments.push_back({row.text(0), row.text(1)});
        },
        owner.id);
}

Status delete_unused_attachments(const Database& database) {
    return database.run(
        std::string("DELETE FROM attachments WHERE id NOT IN (SELECT attachment_id FROM message_attachments) "
                    "AND id NOT IN (SELECT attachment_id FROM draft_attachments)"));
}

}  // namespace octavo
