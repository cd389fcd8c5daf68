#include "ui/image.h"

#include <zlib.h>

namespace octavo {
namespace {

void put_u32(std::string& out, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 255);
}

uint32_t crc(const std::string& bytes) {
    return static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

void put_chunk(std::string& out, const std::string& type, const std::string& data) {
    put_u32(out, static_cast<uint32_t>(data.size()));
    out += type + data;
    put_u32(out, crc(type + data));
}

// Rows as the format wants them: a filter byte, then red, green, blue. Filter 1 (difference to the pixel on the left)
// makes flat areas zeros.
std::string filtered_rows(const Image& image) {
    std::string rows;
    rows.reserve((static_cast<size_t>(image.width) * 3 + 1) * static_cast<size_t>(image.height));
    for (int y = 0; y < image.height; ++y) {
        rows += '\1';
        uint32_t left = 0;
        for (int x = 0; x < image.width; ++x) {
            const uint32_t pixel = image.pixels[static_cast<size_t>(y) * static_cast<size_t>(image.width) + x];
            for (const int shift : {0, 8, 16}) rows += static_cast<char>((pixel >> shift) - (left >> shift));
            left = pixel;
        }
    }
    return rows;
}

std::string deflated(const std::string& data) {
    uLongf size = compressBound(static_cast<uLong>(data.size()));
    std::string packed(size, '\0');
    compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
              static_cast<uLong>(data.size()), 6);
    packed.resize(size);
    return packed;
}

}  // namespace

std::string encode_png(const Image& image) {
    std::string header;
    put_u32(header, static_cast<uint32_t>(image.width));
    put_u32(header, static_cast<uint32_t>(image.height));
    header += std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, RGB, the only compression and filters, no interlace

    std::string file = "\x89PNG\r\n\x1A\n";
    put_chunk(file, "IHDR", header);
    put_chunk(file, "IDAT", deflated(filtered_rows(image)));
    put_chunk(file, "IEND", "");
    return file;
}

}  // namespace octavo
