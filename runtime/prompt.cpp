#include "runtime/prompt.h"

#include <fmt/core.h>

namespace octavo {

Result<PreparedPrompt> prepare_prompt(const Model& model, const ChatPrompt& prompt) {
    if (model.tokenizer == nullptr) {
        return Error{ErrorKind::input, fmt::format("{} has no tokenizer, so it cannot read text.", model.name)};
    }
    if (!model.chat) {
        return Error{ErrorKind::input, fmt::format("{} cannot chat: {}", model.name, model.chat_error)};
    }
    Result<std::vector<PromptPart>> parts = model.chat->render(
        prompt.messages, {.thinking = prompt.thinking, .keep_old_reasoning = prompt.keep_old_reasoning});
    if (!parts) return parts.error();
    Result<std::vector<int32_t>> ids = model.tokenizer->encode(*parts);
    if (!ids) return ids.error();
    const bool has_system_prompt = !prompt.messages.empty() && prompt.messages.front().role == Role::system;
    PreparedPrompt prepared;
    prepared.anchors = prompt_anchors(*ids, turn_start_id(model), has_system_prompt);
    prepared.ids = std::move(*ids);
    return prepared;
}

int32_t turn_start_id(const Model& model) {
    return model.tokenizer != nullptr ? model.tokenizer->special_id("<|im_start|>") : -1;
}

std::vector<Anchor> prompt_anchors(const std::vector<int32_t>& ids, int32_t turn_start, bool has_system_prompt) {
    std::vector<Anchor> anchors;
    for (size_t i = 1; i < ids.size(); ++i) {
        if (ids[i] != turn_start) continue;
        const bool ends_system_prompt = has_system_prompt && anchors.empty();
        anchors.push_back(
            {static_cast<int64_t>(i), ends_system_prompt ? CheckpointKind::system_prompt : CheckpointKind::turn});
    }
    anchors.push_back({static_cast<int64_t>(ids.size()), CheckpointKind::reply});
    return anchors;
}

}  // namespace octavo
