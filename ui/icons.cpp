#include "ui/icons.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace octavo {
namespace {

// How an icon is drawn, letters before numbers:
//   M x y, L x y     begin a line at a point, go on to the next
//   Z                back to the line's beginning
//   O x y r          a circle
//   A x y r from to  an arc, degrees clockwise from the right
//   R x y w h r      a rectangle with round corners
//   B x y w h r      the same, filled
//   D x y r          a dot
// In the order of the enum.
constexpr std::array<const char*, static_cast<size_t>(Icon::count)> kPaths = {
    "",
    "M12 5L12 19M5 12L19 12",       // plus
    "O11 11 6.5M16 16L20.5 20.5",   // search
    "M12 19L12 5M6 11L12 5L18 11",  // send
    "B6.5 6.5 11 11 2",             // stop
    "R9 9 11 11 2M6 15L5.5 15A5.5 13.5 1.5 90 180L4 5.5A5.5 5.5 1.5 180 270L13.5 4A13.5 5.5 1.5 270 360L15 6",  // copy
    "M5 12.5L10 17.5L19.5 7",                                                                                   // check
    "A12 12 8.06 20 330M19 3.5L19 8L14.5 8",                                                                    // retry
    "M4.5 19.5L5.5 15.5L16 5L19 8L8.5 18.5ZM13.5 7.5L16.5 10.5",                                                // edit
    "M4.5 7L19.5 7M9 7L9.5 4.5L14.5 4.5L15 7M6.5 7L7.5 19.5L16.5 19.5L17.5 7M10.3 11L10.5 15.5M13.7 11L13.5 15.5",  // trash
    "M14.5 6L8.5 12L14.5 18",                                                                              // left
    "M9.5 6L15.5 12L9.5 18",                                                                               // right
    "M6 9.5L12 15.5L18 9.5",                                                                               // down
    "M6 14.5L12 8.5L18 14.5",                                                                              // up
    "M6.5 6.5L17.5 17.5M17.5 6.5L6.5 17.5",                                                                // close
    "M18.5 11L12 17.5A9 14.5 4.24 45 225L13 4.5A15.5 7 3.54 225 405L11 14A9.75 12.75 1.77 45 225L15 7.5",  // attach
    "R3.5 5 17 14 2.5M9.5 5L9.5 19",                                                                       // list
    "R3.5 5 17 14 2.5M14.5 5L14.5 19",                                                                     // panel
    "O12 12 4M12 2.5L12 4.5M12 19.5L12 21.5M2.5 12L4.5 12M19.5 12L21.5 12M5.3 5.3L6.7 6.7M17.3 17.3L18.7 18.7M5.3 "
    "18.7L6.7 17.3M17.3 6.7L18.7 5.3",                             // sun
    "A12 12 8 25 245A15.5 8 7.5 172 83",                           // moon
    "D5.5 12 1.5D12 12 1.5D18.5 12 1.5",                           // more
    "M12 4L21 19.5L3 19.5ZM12 10L12 14D12 16.8 0.9",               // warning
    "O12 12 8.5M12 11.3L12 16D12 8.2 1",                           // info
    "M3.5 18.5L3.5 6L9.5 6L11.5 8.5L20.5 8.5L20.5 18.5Z",          // folder
    "M6 3.5L14 3.5L18.5 8L18.5 20.5L6 20.5ZM14 3.5L14 8L18.5 8",   // file
    "M12 4L12 15M7.5 10.8L12 15.3L16.5 10.8M4.5 19.5L19.5 19.5",   // save
    "M12 15.5L12 4.5M7.5 8.8L12 4.3L16.5 8.8M4.5 19.5L19.5 19.5",  // open
    "O12 12 8.5A12 10 2.6 180 390M12 12.3L12 13.6D12 16.5 1",      // help
    "M8 5.5L18.5 12L8 18.5Z",                                      // resume
};

constexpr float kDegree = 3.14159265f / 180;

class Pen {
  public:
    Pen(ImDrawList& list, ImVec2 origin, float unit, ImU32 colour)
        : list_(list), origin_(origin), unit_(unit), colour_(colour), width_(std::max(1.0f, 1.7f * unit)) {}
    ~Pen() { lift(false); }
    Pen(const Pen&) = delete;
    Pen& operator=(const Pen&) = delete;

    void draw(char what, const std::array<float, 5>& n) {
        switch (what) {
            case 'M':
                lift(false);
                list_.PathLineTo(at(n[0], n[1]));
                break;
            case 'L': list_.PathLineTo(at(n[0], n[1])); break;
            case 'Z': lift(true); break;
            case 'O': list_.AddCircle(at(n[0], n[1]), n[2] * unit_, colour_, 0, width_); break;
            case 'A': list_.PathArcTo(at(n[0], n[1]), n[2] * unit_, n[3] * kDegree, n[4] * kDegree); break;
            case 'R':
                list_.AddRect(at(n[0], n[1]), at(n[0] + n[2], n[1] + n[3]), colour_, n[4] * unit_, 0, width_);
                break;
            case 'B': list_.AddRectFilled(at(n[0], n[1]), at(n[0] + n[2], n[1] + n[3]), colour_, n[4] * unit_); break;
            case 'D': list_.AddCircleFilled(at(n[0], n[1]), n[2] * unit_, colour_); break;
            default: break;
        }
    }

  private:
    ImVec2 at(float x, float y) const { return {origin_.x + x * unit_, origin_.y + y * unit_}; }
    void lift(bool closed) { list_.PathStroke(colour_, closed ? ImDrawFlags_Closed : ImDrawFlags_None, width_); }

    ImDrawList& list_;
    ImVec2 origin_;
    float unit_;
    ImU32 colour_;
    float width_;
};

}  // namespace

void draw_icon(ImDrawList& list, Icon icon, ImVec2 top_left, float size, ImU32 colour) {
    Pen pen(list, {std::round(top_left.x), std::round(top_left.y)}, size / 24, colour);
    for (const char* path = kPaths[static_cast<size_t>(icon)]; *path != '\0';) {
        const char what = *path++;
        std::array<float, 5> numbers{};
        for (float& number : numbers) {
            char* end = nullptr;
            number = std::strtof(path, &end);
            if (end == path) break;
            path = end;
        }
        pen.draw(what, numbers);
        while (*path == ' ') ++path;
    }
}

}  // namespace octavo
