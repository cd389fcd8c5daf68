// Keeps the atlas fit for what is to be drawn: notes the characters of texts, and has the atlas built anew on a worker
// when it lacks some or the scale changed.
//
// Threads: the window's; the worker is its own.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <thread>

#include "ui/fonts.h"

namespace octavo {

class FontLoader {
  public:
    // Builds the first atlas at once. `when_ready`: called on the worker when take() has something to give; without it
    // there is no worker, and take() itself builds.
    FontLoader(float scale, std::function<void()> when_ready);

    Fonts& fonts() const { return *fonts_; }

    // A text that is going to be drawn in this face.
    void see(Face face, std::string_view text) { wanted_more_ |= glyphs_[static_cast<size_t>(face)].add(text); }
    void set_scale(float scale);

    // Between frames: takes over a finished atlas and starts the next one where something is missing. Returns the
    // atlas that was replaced, which must live until nothing points to it; null: nothing changed.
    std::unique_ptr<Fonts> update();

  private:
    float scale_;
    std::function<void()> when_ready_;
    GlyphSets glyphs_;
    bool wanted_more_ = false;
    std::unique_ptr<Fonts> fonts_;
    std::future<std::unique_ptr<Fonts>> next_;
    std::jthread worker_;  // last: joined before what it uses goes
};

}  // namespace octavo
