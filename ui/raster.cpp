#include "ui/raster.h"

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

struct Texture {
    const unsigned char* alpha = nullptr;  // [height][width]
    int width = 0;
    int height = 0;

    float texel(int x, int y) const {
        x = std::clamp(x, 0, width - 1);
        y = std::clamp(y, 0, height - 1);
        return alpha[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
    }

    // Linear between the centres of texels; 0 to 255.
    float sample(float u, float v) const {
        const float x = u * static_cast<float>(width) - 0.5f;
        const float y = v * static_cast<float>(height) - 0.5f;
        const int x0 = static_cast<int>(std::floor(x));
        const int y0 = static_cast<int>(std::floor(y));
        const float fx = x - static_cast<float>(x0);
        const float fy = y - static_cast<float>(y0);
        const float top = texel(x0, y0) + (texel(x0 + 1, y0) - texel(x0, y0)) * fx;
        const float bottom = texel(x0, y0 + 1) + (texel(x0 + 1, y0 + 1) - texel(x0, y0 + 1)) * fx;
        return top + (bottom - top) * fy;
    }
};

struct Clip {
    int left, top, right, bottom;  // in pixels, right and bottom not included
};

float channel(ImU32 colour, int shift) { return static_cast<float>((colour >> shift) & 255); }

uint32_t blend(uint32_t under, const float (&over)[3], float alpha) {
    uint32_t mixed = 0xFF000000;
    for (int i = 0; i < 3; ++i) {
        const float old = channel(under, i * 8);
        mixed |= static_cast<uint32_t>(old + (over[i] - old) * alpha + 0.5f) << (i * 8);
    }
    return mixed;
}

// Twice the area of the triangle a, b, p: positive where p is on the inner side of the edge.
float edge(const ImVec2& a, const ImVec2& b, float x, float y) {
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

// Pixels on an edge that two triangles share belong to one of them: the one for which it is a top or left edge.
bool owns_edge(const ImVec2& a, const ImVec2& b) { return b.y < a.y || (b.y == a.y && b.x > a.x); }

void fill_triangle(const ImDrawVert* (&v)[3], const Texture& texture, const Clip& clip, Image& image) {
    float area = edge(v[0]->pos, v[1]->pos, v[2]->pos.x, v[2]->pos.y);
    if (area == 0 || !std::isfinite(area)) return;
    if (area < 0) {
        std::swap(v[1], v[2]);
        area = -area;
    }
    const auto [min_x, max_x] = std::minmax({v[0]->pos.x, v[1]->pos.x, v[2]->pos.x});
    const auto [min_y, max_y] = std::minmax({v[0]->pos.y, v[1]->pos.y, v[2]->pos.y});
    const int left = std::max(clip.left, static_cast<int>(std::floor(std::max(min_x, -1e6f))));
    const int right = std::min(clip.right, static_cast<int>(std::ceil(std::min(max_x, 1e6f))));
    const int top = std::max(clip.top, static_cast<int>(std::floor(std::max(min_y, -1e6f))));
    const int bottom = std::min(clip.bottom, static_cast<int>(std::ceil(std::min(max_y, 1e6f))));
    const bool owned[3] = {owns_edge(v[1]->pos, v[2]->pos), owns_edge(v[2]->pos, v[0]->pos),
                           owns_edge(v[0]->pos, v[1]->pos)};

    for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x) {
            const float px = static_cast<float>(x) + 0.5f;
            const float py = static_cast<float>(y) + 0.5f;
            const float w[3] = {edge(v[1]->pos, v[2]->pos, px, py), edge(v[2]->pos, v[0]->pos, px, py),
                                edge(v[0]->pos, v[1]->pos, px, py)};
            bool inside = true;
            for (int i = 0; i < 3; ++i) inside = inside && (w[i] > 0 || (w[i] == 0 && owned[i]));
            if (!inside) continue;

            float u = 0;
            float t = 0;
            float colour[3] = {};
            float alpha = 0;
            for (int i = 0; i < 3; ++i) {
                const float share = w[i] / area;
                u += v[i]->uv.x * share;
                t += v[i]->uv.y * share;
                for (int c = 0; c < 3; ++c) colour[c] += channel(v[i]->col, c * 8) * share;
                alpha += channel(v[i]->col, IM_COL32_A_SHIFT) * share;
            }
            alpha *= texture.sample(u, t) / (255.0f * 255.0f);
            uint32_t& pixel =
                image.pixels[static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)];
            pixel = blend(pixel, colour, std::clamp(alpha, 0.0f, 1.0f));
        }
}

Clip clip_of(const ImDrawCmd& command, const ImDrawData& data, const Image& image) {
    const auto x = [&](float value) { return std::clamp(static_cast<int>(value - data.DisplayPos.x), 0, image.width); };
    const auto y = [&](float value) {
        return std::clamp(static_cast<int>(value - data.DisplayPos.y), 0, image.height);
    };
    return {x(command.ClipRect.x), y(command.ClipRect.y), x(command.ClipRect.z), y(command.ClipRect.w)};
}

}  // namespace

void rasterise(const ImDrawData& data, ImFontAtlas& atlas, Image& image) {
    Texture texture;
    unsigned char* alpha = nullptr;
    atlas.GetTexDataAsAlpha8(&alpha, &texture.width, &texture.height);
    texture.alpha = alpha;
    for (const ImDrawList* list : data.CmdLists)
        for (const ImDrawCmd& command : list->CmdBuffer) {
            if (command.UserCallback != nullptr) continue;
            const Clip clip = clip_of(command, data, image);
            for (unsigned i = 0; i + 2 < command.ElemCount; i += 3) {
                const ImDrawVert* corners[3];
                for (unsigned c = 0; c < 3; ++c) {
                    const ImDrawIdx index = list->IdxBuffer[static_cast<int>(command.IdxOffset + i + c)];
                    corners[c] = &list->VtxBuffer[static_cast<int>(command.VtxOffset + index)];
                }
                fill_triangle(corners, texture, clip, image);
            }
        }
}

}  // namespace octavo
