// A reply that is being written: its pieces are rows of their own, so that writing one costs no more than the piece.
//
// Threads: as Database. The functions are parts of a transaction.
#pragma once

#include <cstdint>

#include "app/store/records.h"
#include "app/store/sqlite.h"

namespace octavo {

Status add_reply_part(const Database& database, int64_t message_id, const ReplyPart& part);
// All pieces so far, joined.
Result<ReplyPart> read_reply_parts(const Database& database, int64_t message_id);
// Makes replies that a crash left in the middle into stopped ones.
Status finish_interrupted_replies(const Database& database);

// Token ids as bytes of the file, and back; an incomplete one at the end is left out.
std::vector<std::byte> pack_ids(const std::vector<int32_t>& ids);
std::vector<int32_t> unpack_ids(std::span<const std::byte> bytes);

}  // namespace octavo
