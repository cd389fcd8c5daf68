// Where models lie on this machine: folders of other programs, by what their documentation says.
//
// Threads: pure but for the disk, which it asks whether a folder exists.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace octavo {

enum class PlaceLayout {
    folder,     // model files, in folders as anyone likes
    hub_cache,  // models--org--name/snapshots/revision/file, links into blobs
    ollama,     // manifests/registry/namespace/name/tag, JSON that names files in blobs
};

struct ModelPlace {
    std::string source;  // "LM Studio"; of a person's own folder: its path
    PlaceLayout layout = PlaceLayout::folder;
    std::filesystem::path folder;
};

// The value of an environment variable; empty where it is not set.
using Environment = std::function<std::string(const char* variable)>;
Environment process_environment();

// Folders of other programs that exist, each once.
std::vector<ModelPlace> places_of_other_programs(const Environment& environment);

// A folder that a person chose: a hub cache or an Ollama store is known by what is in it.
ModelPlace place_of_folder(const std::filesystem::path& folder);

}  // namespace octavo
