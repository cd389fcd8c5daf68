#include "models/tensors/tensor_store.h"

#include <fmt/format.h>

#include <bit>
#include <functional>

#include "models/tensors/quote_name.h"

namespace octavo {

std::string shape_text(std::span<const int64_t> shape) {
    std::string text;
    for (const int64_t extent : shape) text += fmt::format("[{}]", extent);
    return text.empty() ? "[] (a scalar)" : text;
}

size_t TensorStore::slot(std::string_view name) const {
    size_t at = std::hash<std::string_view>()(name) & (slots_.size() - 1);
    while (slots_[at] >= 0 && tensors_[static_cast<size_t>(slots_[at])].name != name)
        at = (at + 1) & (slots_.size() - 1);
    return at;
}

void TensorStore::grow(size_t tensors) {
    if (slots_.size() >= 2 * tensors) return;
    slots_.assign(std::bit_ceil(2 * tensors), -1);
    for (size_t i = 0; i < tensors_.size(); ++i) slots_[slot(tensors_[i].name)] = static_cast<int32_t>(i);
}

Status TensorStore::add(std::vector<StoredTensor> tensors) {
    grow(tensors_.size() + tensors.size());
    tensors_.reserve(tensors_.size() + tensors.size());
    for (StoredTensor& tensor : tensors) {
        int32_t& place = slots_[slot(tensor.name)];
        if (place >= 0) return Error{ErrorKind::input, fmt::format("tensor {} occurs twice", quote_name(tensor.name))};
        place = static_cast<int32_t>(tensors_.size());
        tensors_.push_back(std::move(tensor));
    }
    return {};
}

int TensorStore::find(std::string_view name) const { return slots_.empty() ? -1 : slots_[slot(name)]; }

}  // namespace octavo
