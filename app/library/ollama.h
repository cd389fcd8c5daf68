// Ollama's store: a manifest of JSON for every model, whose layers are files named by their hash.
//
// Errors: manifests that are not understood give nothing; they are other programs' business. Threads: it waits for the
// disk. Source: the store as Ollama writes it (docs.ollama.com, "How do I manage the models").
#pragma once

#include <filesystem>
#include <optional>

#include "app/library/find_models.h"

namespace octavo {

// Of the manifest at `manifest`, which lies below `store`/manifests; nothing: it names no GGUF model.
std::optional<FoundModel> read_ollama_manifest(const std::filesystem::path& store,
                                               const std::filesystem::path& manifest);

}  // namespace octavo
