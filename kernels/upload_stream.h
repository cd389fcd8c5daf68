// Copies from ordinary memory to a device that run beside its operations, ahead of those that read them. The device's
// memory for them is in slots: while operations read one, another is filled. What is copied goes through a few pieces
// of ordinary memory that the device reads by itself; they are filled while those before are on their way.
//
// For each filling of a slot: `begin`; as often as needed `piece`, then `send`; `end`; the operations that read it;
// `release`. Only `piece` waits.
//
// Errors: a copy that fails is told by Backend::finish.
// Threads: the thread that calls the back end. A stream goes before its back end does.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/base/memory.h"

namespace octavo {

struct UploadOptions {
    int slots = 2;
    int pieces = 4;
    size_t piece_bytes = size_t{4} << 20;

    size_t staging_bytes() const { return static_cast<size_t>(pieces) * piece_bytes; }
};

class UploadStream {
  public:
    virtual ~UploadStream() = default;

    // What is sent from here on goes to `slot`, once the operations that read it last are done.
    virtual void begin(int slot) = 0;
    // [piece_bytes] to write to: what was there before has been copied.
    virtual std::byte* piece() = 0;
    // Copies the first `bytes` of that piece to `to`.
    virtual void send(std::byte* to, size_t bytes) = 0;
    // Operations that are asked for from here on find what was sent.
    virtual void end() = 0;
    // Those asked for so far are the last that read `slot`.
    virtual void release(int slot) = 0;
};

// What a back end is besides where its device can do that.
class UploadsAhead {
  public:
    virtual ~UploadsAhead() = default;
    // ErrorKind::memory where the pieces find no room.
    virtual Result<std::unique_ptr<UploadStream>> upload_stream(const UploadOptions& options) = 0;
};

// Any device's, one thing after the other.
Result<std::unique_ptr<UploadStream>> make_plain_upload_stream(Memory& device, const UploadOptions& options);

}  // namespace octavo
