#include "app/model_choice.h"

#include <fmt/format.h>

#include "app/printable_text.h"
#include "app/size_text.h"
#include "models/bundled/bundled.h"

namespace octavo {

Result<std::shared_ptr<const Model>> open_chosen_model(const std::string& path) {
    if (path.empty()) return open_model(bundled_model(), "bundled");
    return open_model(std::filesystem::path(path));
}

Result<std::shared_ptr<const ModelText>> open_chosen_text(const std::string& path) {
    if (path.empty()) return open_model_text(bundled_model(), "bundled");
    return open_model_text(std::filesystem::path(path));
}

Status need_tokenizer(const ModelText& model) {
    if (model.tokenizer) return {};
    return Error{ErrorKind::input,
                 fmt::format("{} takes token ids only (logits --ids): {}", model.source, model.tokenizer_error)};
}

Status need_chat(const ModelText& model) {
    if (Status status = need_tokenizer(model); !status) return status;
    if (model.chat) return {};
    return Error{ErrorKind::input, fmt::format("{} has no chat template.", model.source)};
}

std::string model_line(const Model& model) {
    std::string types;
    for (const auto& [type, bytes] : model.bytes_by_type)
        types += fmt::format(", {} {}", bytes_text(bytes), printable_line(type));
    return fmt::format("{} ({}, {}, {:.1f} M parameters{})", printable_line(model.name), printable_line(model.source),
                       model.format, static_cast<double>(model.parameters) / 1e6, types);
}

}  // namespace octavo
