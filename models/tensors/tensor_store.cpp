#include "models/tensors/tensor_store.h"

#include <fmt/format.h>

#include "models/tensors/quote_name.h"

namespace octavo {

std::string shape_text(std::span<const int64_t> shape) {
    std::string text;
    for (const int64_t extent : shape) text += fmt::format("[{}]", extent);
    return text.empty() ? "[] (a scalar)" : text;
}

Status TensorStore::add(std::vector<StoredTensor> tensors) {
    for (StoredTensor& tensor : tensors) {
        const int position = static_cast<int>(tensors_.size());
        if (!index_.emplace(tensor.name, position).second) {
            return Error{ErrorKind::input, fmt::format("tensor {} occurs twice", quote_name(tensor.name))};
        }
        tensors_.push_back(std::move(tensor));
    }
    return {};
}

int TensorStore::find(std::string_view name) const {
    const auto found = index_.find(std::string(name));
    return found == index_.end() ? -1 : found->second;
}

}  // namespace octavo
