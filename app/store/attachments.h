// Texts that go with messages and drafts, each stored once.
//
// Threads: as Database. The functions are parts of a transaction.
#pragma once

#include <cstdint>
#include <vector>

#include "app/store/records.h"
#include "app/store/sqlite.h"

namespace octavo {

// Who an attachment belongs to.
struct AttachmentOwner {
    enum class Kind { message, draft };  // a draft is named by its conversation
    Kind kind = Kind::message;
    int64_t id = 0;
};

Status add_attachments(const Database& database, AttachmentOwner owner, const std::vector<Attachment>& attachments);
// Whatever can be read; the error, if any, comes besides.
Status read_attachments(const Database& database, AttachmentOwner owner, std::vector<Attachment>& attachments);
// Texts that no message and no draft has.
Status delete_unused_attachments(const Database& database);

}  // namespace octavo
