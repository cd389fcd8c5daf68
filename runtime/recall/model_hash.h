// A name for a model's weights, so that results of different files are not mixed up.
#pragma once

#include <cstdint>

#include "models/model.h"

namespace octavo {

// Of the shape and a sample of every layer's weights; equal for copies of a file wherever they lie.
uint64_t model_hash(const Model& model);

}  // namespace octavo
