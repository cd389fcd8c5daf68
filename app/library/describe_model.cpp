#include "app/library/describe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "app/printable_text.h"
#include "app/size_text.h"
#include "models/model_summary.h"
#include "runtime/memory_plan.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

// What a forward pass of the real models takes, roughly; the engine says it exactly once it is loaded.
constexpr int64_t kWorkspaceBytes = int64_t{256} << 20;

int64_t memory_need(const ModelSummary& summary) {
    Model model;
    model.config = summary.description->config;
    model.weight_bytes = summary.weight_bytes;
    SessionOptions options;
    options.checkpoint_budget_bytes = 0;
    const int64_t tokens = std::min<int64_t>(kPricedTokens, model.config.context_length);
    return total_committed_bytes(planned_memory(model, options, tokens, {.workspace_bytes = kWorkspaceBytes}));
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + printable_line(word);
    return text;
}

// What files of other kinds are; empty for models.
std::string_view kind_sentence(FileKind kind) {
    switch (kind) {
        case FileKind::model: return "";
        case FileKind::vision_part: return "It is a vision part for another model, and images are not supported.";
        case FileKind::adapter: return "It is an adapter (LoRA) for another model, not a model.";
        case FileKind::vocabulary: return "It holds a vocabulary only, no weights.";
        case FileKind::other: return "It is no model, but data of another tool.";
    }
    return "";
}

constexpr uint64_t kLargestFile = uint64_t{1} << 50;

// In bytes where shorter figures would be the same.
std::string cut_off_sentence(const ModelSummary& summary) {
    const auto here = static_cast<int64_t>(summary.file_bytes);
    const auto whole = static_cast<int64_t>(summary.whole_bytes);
    const bool differ = bytes_text(here) != bytes_text(whole);
    const std::string share = differ ? fmt::format("{} of {}", bytes_text(here), bytes_text(whole))
                                     : fmt::format("{} of {} bytes", group_digits(here), group_digits(whole));
    return fmt::format("It is cut off: {} are there. Wait for the download to end, or fetch it again.", share);
}

struct Judgement {
    ModelVerdict verdict = ModelVerdict::usable;
    std::string problem;
};

// What its name calls one part of many, but its keys do not, is a model of its own.
bool is_whole(const FoundModel& found, const ModelSummary& summary) {
    return found.incomplete.empty() || (summary.parts == 1 && found.files.size() == 1);
}

Judgement judge(const FoundModel& found, const ModelSummary& summary) {
    if (const std::string_view kind = kind_sentence(summary.kind); !kind.empty())
        return {ModelVerdict::unsupported, std::string(kind)};
    if (summary.part > 1)  // only the first part says what the model is
        return {ModelVerdict::incomplete,
                found.incomplete.empty()
                    ? fmt::format("It is part {} of {} of a split model, and part 1 does not lie beside it under its "
                                  "original name.",
                                  summary.part, summary.parts)
                    : found.incomplete};
    if (!found.safetensors && !is_hybrid_architecture(summary.architecture))
        return {ModelVerdict::unsupported,
                fmt::format("Not a model Octavo can run: its architecture is {}; supported are qwen3next, qwen35moe "
                            "and qwen35.",
                            summary.architecture.empty() ? "not named" : printable_line(summary.architecture))};
    if (!is_whole(found, summary)) return {ModelVerdict::incomplete, found.incomplete};
    if (!summary.missing_file.empty())
        return {ModelVerdict::incomplete, fmt::format("Its file {} is missing: fetch it into the same folder.",
                                                      printable_line(summary.missing_file))};
    if (summary.whole_bytes > kLargestFile)
        return {ModelVerdict::broken, "It is broken: it says that tensors lie where no file reaches."};
    if (summary.file_bytes < summary.whole_bytes) return {ModelVerdict::incomplete, cut_off_sentence(summary)};
    if (static_cast<int>(found.files.size()) < summary.parts && !found.safetensors)
        return {ModelVerdict::incomplete,
                fmt::format("It is one of {} parts, and the others do not lie beside it under their original names.",
                            summary.parts)};
    if (!summary.unsupported_types.empty())
        return {ModelVerdict::unsupported,
                fmt::format("Not a model Octavo can run: it has weights of the type {}, which this version cannot "
                            "read.",
                            joined(summary.unsupported_types))};
    if (!summary.problem.empty())
        return {found.safetensors ? ModelVerdict::unsupported : ModelVerdict::broken,
                fmt::format("Not a model Octavo can run: {}.", printable_line(summary.problem))};
    return {};
}

std::vector<std::string> notes_of(const ModelSummary& summary) {
    std::vector<std::string> notes;
    if (summary.draft_bytes > 0)
        notes.push_back(fmt::format("Its draft (MTP) block, {}, is not used yet.", bytes_text(summary.draft_bytes)));
    if (summary.vision_bytes > 0)
        notes.push_back(fmt::format("Its vision part, {}, is not used.", bytes_text(summary.vision_bytes)));
    return notes;
}

Result<ModelSummary> summarise(const FoundModel& found) {
    return found.safetensors ? summarise_safetensors(found.files.front()) : summarise_gguf(found.files);
}

int64_t bytes_of(const std::vector<fs::path>& files) {
    uintmax_t sum = 0;
    for (const fs::path& file : files) {
        std::error_code error;
        const uintmax_t bytes = fs::file_size(file, error);
        if (!error) sum += bytes;
    }
    return static_cast<int64_t>(std::min<uintmax_t>(sum, INT64_MAX));
}

void fill_facts(const ModelSummary& summary, LibraryModel& model) {
    model.architecture = summary.architecture;
    model.quantisation = summary.quantisation;
    model.bytes = static_cast<int64_t>(std::min<uint64_t>(summary.file_bytes, INT64_MAX));
    model.parameters = summary.parameters;
    model.notes = notes_of(summary);
    if (!summary.description) return;
    model.context_tokens = summary.description->config.context_length;
    model.needed_bytes = memory_need(summary);
}

}  // namespace

DescribedModel describe_found(const FoundModel& found, const std::string& source) {
    DescribedModel described;
    LibraryModel& model = described.model;
    model.name = found.name;
    model.group = found.group;
    model.source = source;
    model.files = static_cast<int>(found.files.size());
    if (found.files.empty()) {
        model.location = found.location.string();
        model.verdict = ModelVerdict::incomplete;
        model.problem = found.incomplete;
        return described;
    }
    model.path = found.files.front().string();
    model.location = model.path;
    const Result<ModelSummary> summary = summarise(found);
    if (!summary) {
        model.bytes = bytes_of(found.files);
        model.verdict = found.incomplete.empty() ? ModelVerdict::broken : ModelVerdict::incomplete;
        model.problem =
            found.incomplete.empty() ? fmt::format("It is broken: {}.", summary.error().message) : found.incomplete;
        if (model.problem.ends_with("..")) model.problem.pop_back();
        return described;
    }
    fill_facts(*summary, model);
    const Judgement judgement = judge(found, *summary);
    model.verdict = judgement.verdict;
    model.problem = judgement.problem;
    described.vision_part = summary->kind == FileKind::vision_part;
    return described;
}

}  // namespace octavo
