#include "ui/font_loader.h"

#include <chrono>
#include <utility>

namespace octavo {

FontLoader::FontLoader(float scale, std::function<void()> when_ready)
    : scale_(scale), when_ready_(std::move(when_ready)), fonts_(build_fonts(scale, glyphs_)) {}

void FontLoader::set_scale(float scale) {
    if (scale == scale_) return;
    scale_ = scale;
    wanted_more_ = true;
}

std::unique_ptr<Fonts> FontLoader::update() {
    std::unique_ptr<Fonts> replaced;
    if (next_.valid() && next_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
        replaced = std::exchange(fonts_, next_.get());
    if (!wanted_more_ || next_.valid()) return replaced;

    wanted_more_ = false;
    if (!when_ready_) return std::exchange(fonts_, build_fonts(scale_, glyphs_));
    std::promise<std::unique_ptr<Fonts>> promise;
    next_ = promise.get_future();
    worker_ = std::jthread(
        [scale = scale_, glyphs = glyphs_, when_ready = when_ready_, promise = std::move(promise)]() mutable {
            promise.set_value(build_fonts(scale, glyphs));
            when_ready();
        });
    return replaced;
}

}  // namespace octavo
