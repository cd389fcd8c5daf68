#include "runtime/prompt.h"

#include <fmt/core.h>

#include <algorithm>

namespace octavo {
namespace {

constexpr ptrdiff_t kBorderTokens = 4;

}  // namespace

Result<PreparedPrompt> prepare_prompt(const Model& model, const ChatPrompt& prompt) {
    if (model.tokenizer == nullptr) {
        return Error{ErrorKind::input, fmt::format("{} has no tokenizer, so it cannot read text.", model.name)};
    }
    if (!model.chat) {
        return Error{ErrorKind::input, fmt::format("{} has no chat template.", model.name)};
    }
    Result<std::vector<PromptPart>> parts = model.chat->render(
        prompt.messages,
        {.thinking = prompt.thinking, .keep_old_reasoning = prompt.keep_old_reasoning, .tools = prompt.tools});
    if (!parts) return parts.error();
    Result<std::vector<int32_t>> ids = model.tokenizer->encode(*parts);
    if (!ids) return ids.error();
    const bool has_system_prompt = !prompt.messages.empty() && prompt.messages.front().role == Role::system;
    PreparedPrompt prepared;
    prepared.anchors = prompt_anchors(*ids, turn_start_id(model), has_system_prompt);
    for (const Anchor& anchor : document_anchors(*model.tokenizer, prompt.messages, *ids, turn_start_id(model))) {
        prepared.anchors.push_back(anchor);
    }
    prepared.ids = std::move(*ids);
    return prepared;
}

int32_t turn_start_id(const Model& model) {
    return model.tokenizer != nullptr ? model.tokenizer->special_id("<|im_start|>") : -1;
}

std::vector<Anchor> document_anchors(const Tokenizer& tokenizer, const std::vector<Message>& messages,
                                     const std::vector<int32_t>& ids, int32_t turn_start) {
    constexpr size_t header_bytes = std::string_view("user\n").size();
    std::vector<Anchor> anchors;
    auto turn = ids.begin();
    for (const Message& message : messages) {
        turn = std::find(turn, ids.end(), turn_start);
        if (turn == ids.end()) break;
        const auto first = ++turn;
        if (message.attached_bytes == 0) continue;
        auto last = first;
        const size_t end = header_bytes + message.attached_bytes;
        for (size_t bytes = 0; last != ids.end() && *last != turn_start; ++last) {
            bytes += tokenizer.token_bytes(*last).size();
            if (bytes > end) break;
        }
        if (last - first <= kBorderTokens) continue;
        anchors.push_back({last - kBorderTokens - ids.begin(), CheckpointKind::turn});
    }
    return anchors;
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
