// octavo render: the exact prompt that a model's chat template makes of a conversation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/chat/message_file.h"
#include "app/commands/commands.h"
#include "app/model_choice.h"
#include "app/output.h"
#include "app/text_file.h"

namespace octavo {
namespace {

struct Options {
    std::string model;
    std::string messages;
    std::string tools;
    bool no_think = false;
    bool preserve_thinking = false;
    bool no_generation_prompt = false;
    JsonOption json;
};

Result<std::vector<PromptPart>> render_file(const Options& options, const ModelText& model) {
    const Result<std::string> text = read_text_file(options.messages);
    if (!text) return text.error();
    const Result<std::vector<Message>> messages = parse_messages(*text);
    if (!messages) return messages.error();
    Result<std::vector<std::string>> tools = read_tools_file(options.tools);
    if (!tools) return tools.error();
    return model.chat->render(*messages, {.thinking = !options.no_think,
                                          .add_generation_prompt = !options.no_generation_prompt,
                                          .keep_old_reasoning = options.preserve_thinking,
                                          .tools = std::move(*tools)});
}

int run(const Options& options) {
    if (const Status target = check_json_target(options.json); !target) return fail(target.error());
    const auto model = open_chosen_text(options.model);
    if (!model) return fail(model.error());
    if (const Status usable = need_chat(**model); !usable) return fail(usable.error());
    const Result<std::vector<PromptPart>> parts = render_file(options, **model);
    if (!parts) return fail(parts.error());
    const Result<std::vector<int32_t>> ids = (*model)->tokenizer->encode(*parts);
    if (!ids) return fail(ids.error());

    for (const std::string& note : (*model)->notes) print_error(note);
    std::string prompt;
    for (const PromptPart& part : *parts) prompt += part.text;
    print_result(options.json, prompt);
    return finish(
        options.json,
        nlohmann::json{
            {"prompt", prompt}, {"ids", *ids}, {"tokens", ids->size()}, {"dialect", (*model)->chat->dialect().name}});
}

}  // namespace

RunCommand add_render_command(CLI::App& command) {
    auto options = std::make_shared<Options>();
    add_file_option(command, "-m,--model", options->model, "Model whose chat template is used (default: bundled)");
    add_file_option(command, "--messages", options->messages, "JSON: an array of {\"role\", \"content\"}")->required();
    add_file_option(command, "--tools", options->tools,
                    "JSON: an array of tools, for templates that have a place for them");
    command.add_flag("--no-think", options->no_think, "Close the thinking block at once, in templates that have one");
    command.add_flag("--preserve-thinking", options->preserve_thinking,
                     "Keep the thinking of earlier replies, in templates that can");
    command.add_flag("--no-generation-prompt", options->no_generation_prompt,
                     "End with the last message, without the opening of a reply");
    add_json_option(command, options->json);
    return [options] { return run(*options); };
}

}  // namespace octavo
