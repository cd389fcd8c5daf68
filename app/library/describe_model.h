// From files that were found to what is said of them.
//
// Threads: it waits for the disk. Private to app/library.
#pragma once

#include "app/library/library.h"

namespace octavo {

struct DescribedModel {
    LibraryModel model;
    bool vision_part = false;  // no model itself: turns images into tokens for one beside it
};

DescribedModel describe_found(const FoundModel& found, const std::string& source);

}  // namespace octavo
