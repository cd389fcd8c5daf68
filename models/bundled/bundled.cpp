#include "models/bundled/bundled.h"

// Made by octavo_embed (cmake/embed.cmake).
extern "C" const unsigned char octavo_bundled_model[];
extern "C" const unsigned char octavo_bundled_model_end[];

namespace octavo {

std::span<const std::byte> bundled_model() {
    return std::as_bytes(std::span(octavo_bundled_model, octavo_bundled_model_end));
}

}  // namespace octavo
