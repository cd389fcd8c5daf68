// The page of keys (F1).
//
// Threads: the window's.
#pragma once

#include <span>

#include "ui/ui.h"

namespace octavo {

struct KeyHelp {
    const char* keys;
    const char* what;
};
std::span<const KeyHelp> key_help();

// Over everything else; clears `open` when the person closes it.
void draw_help(Ui& ui, bool& open);

}  // namespace octavo
