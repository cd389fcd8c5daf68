// A picture in memory, and as a PNG file.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

struct Image {
    int width = 0;
    int height = 0;
    std::vector<uint32_t> pixels;  // [height][width], 0xAABBGGRR as Dear ImGui packs colours

    Image(int width, int height, uint32_t colour)
        : width(width), height(height), pixels(static_cast<size_t>(width) * static_cast<size_t>(height), colour) {}
};

// The bytes of a PNG file, 8 bits a channel, without transparency.
std::string encode_png(const Image& image);

}  // namespace octavo
