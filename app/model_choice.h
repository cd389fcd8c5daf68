// Which model a command works with.
#pragma once

#include <memory>

#include "app/options.h"
#include "models/model.h"

namespace octavo {

// The file of the options, or the bundled model where they name none.
Result<std::shared_ptr<const Model>> open_chosen_model(const std::string& path);

// The same for what needs no weights: files that have only a vocabulary will do.
Result<std::shared_ptr<const ModelText>> open_chosen_text(const std::string& path);

// Errors for files without a vocabulary, or without a chat template that is understood.
Status need_tokenizer(const ModelText& model);
Status need_chat(const ModelText& model);

// "Pocket (bundled, 33.6 MB, Q8_0)": one line for people.
std::string model_line(const Model& model);

}  // namespace octavo
