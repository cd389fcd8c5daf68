#include "kernels/upload_stream.h"

#include <utility>

namespace octavo {
namespace {

class PlainUploadStream final : public UploadStream {
  public:
    PlainUploadStream(Memory& device, Buffer piece) : device_(device), piece_(std::move(piece)) {}

    void begin(int) override {}
    std::byte* piece() override { return piece_.data(); }
    void send(std::byte* to, size_t bytes) override { device_.upload(to, piece_.data(), bytes); }
    void end() override {}
    void release(int) override {}

  private:
    Memory& device_;
    Buffer piece_;
};

}  // namespace

Result<std::unique_ptr<UploadStream>> make_plain_upload_stream(Memory& device, const UploadOptions& options) {
    // Not shared with the device, which might read it later than `upload` returns.
    Result<Buffer> piece = Buffer::allocate(options.piece_bytes, "experts on their way");
    if (!piece) return piece.error();
    return std::unique_ptr<UploadStream>(std::make_unique<PlainUploadStream>(device, std::move(*piece)));
}

}  // namespace octavo
