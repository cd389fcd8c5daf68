#include "models/hybrid/skipped_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

constexpr std::string_view kVisionPrefixes[] = {"model.visual.", "visual.", "v.", "mm."};
constexpr std::string_view kDraftPrefix = "mtp.";  // safetensors; GGUF numbers draft blocks after the trunk
// Activations and cells of the cache stay as they are: nothing is divided by these.
constexpr std::string_view kActivationSuffixes[] = {".input_scale", ".input_global_scale", ".output_scale", ".k_scale",
                                                    ".v_scale"};
// What would be left out of a product.
constexpr std::string_view kEssentialSuffixes[] = {".bias", ".scale", "_scale", "_scale_2", "_scale_inv"};
constexpr int kNamesShown = 3;

struct Skipped {
    int count = 0;
    int64_t bytes = 0;
    std::string names;

    void add(const StoredTensor& tensor) {
        bytes += static_cast<int64_t>(tensor.data.size());
        if (++count <= kNamesShown) names += (names.empty() ? "" : ", ") + quote_name(tensor.name);
        if (count == kNamesShown + 1) names += ", ...";
    }
};

std::string note(const Skipped& skipped, std::string_view reason) {
    return fmt::format("{} {} not used, {:.1f} MB ({}): {}.", skipped.count,
                       skipped.count == 1 ? "tensor is" : "tensors are", static_cast<double>(skipped.bytes) * 1e-6,
                       skipped.names, reason);
}

std::vector<std::string> draft_prefixes(const HybridDescription& description, const TensorNames& names) {
    std::vector<std::string> prefixes = {std::string(kDraftPrefix)};
    const int trunk = description.config.layers;
    for (int layer = trunk; layer < trunk + description.draft_layers; ++layer) {
        prefixes.push_back(fmt::format(fmt::runtime(names.layer_prefix), layer));
    }
    return prefixes;
}

bool starts_with_any(std::string_view name, const auto& prefixes) {
    return std::any_of(std::begin(prefixes), std::end(prefixes),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool ends_with_any(std::string_view name, const auto& suffixes) {
    return std::any_of(std::begin(suffixes), std::end(suffixes),
                       [&](std::string_view suffix) { return name.ends_with(suffix); });
}

}  // namespace

Result<std::vector<std::string>> skipped_tensor_notes(const HybridDescription& description, const TensorStore& store,
                                                      const TensorNames& names, const TensorReader& reader) {
    const std::vector<std::string> drafts = draft_prefixes(description, names);
    Skipped draft, vision, activations, unknown;
    for (size_t i = 0; i < store.tensors().size(); ++i) {
        if (reader.use(i).taken) continue;
        const StoredTensor& tensor = store.tensors()[i];
        if (starts_with_any(tensor.name, drafts)) {
            draft.add(tensor);
        } else if (starts_with_any(tensor.name, kVisionPrefixes)) {
            vision.add(tensor);
        } else if (ends_with_any(tensor.name, kActivationSuffixes)) {
            activations.add(tensor);
        } else if (ends_with_any(tensor.name, kEssentialSuffixes)) {
            return Error{ErrorKind::input, fmt::format("tensor {} would change the result, but biases and scales of "
                                                       "this kind are not supported yet",
                                                       quote_name(tensor.name))};
        } else {
            unknown.add(tensor);
        }
    }
    std::vector<std::string> notes;
    if (draft.count > 0) notes.push_back(note(draft, "the draft (MTP) block is not used yet"));
    if (vision.count > 0) notes.push_back(note(vision, "images are not supported"));
    if (activations.count > 0) {
        notes.push_back(note(activations, "they scale activations, which stay as they are here"));
    }
    if (unknown.count > 0) notes.push_back(note(unknown, "this architecture does not have them"));
    return notes;
}

}  // namespace octavo
