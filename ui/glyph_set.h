// Which characters one face of the font atlas should have. It begins with Latin and what the interface itself says, and
// grows when a text has others: by the row of 128 for most scripts, by the character for Chinese and Korean; after a
// few Chinese ones the 2,500 common ones come together, so that a text does not make the atlas grow word by word.
//
// Threads: a value.
#pragma once

#include <string_view>
#include <vector>

namespace octavo {

class GlyphSet {
  public:
    GlyphSet();

    // Adds what the text needs; true when that was something new. Quick for text that needs nothing new.
    bool add(std::string_view text);
    bool contains(char32_t character) const { return character < limit && wanted_[character]; }
    // Pairs of first and last, ended by 0, as Dear ImGui wants them.
    std::vector<unsigned> ranges() const;

  private:
    static constexpr char32_t limit = 0x30000;  // nothing that the fonts have lies beyond

    void add_range(char32_t first, char32_t last);
    void add_missing(char32_t character);
    int chinese_ = 0;           // characters added one by one
    std::vector<bool> wanted_;  // by character
};

}  // namespace octavo
