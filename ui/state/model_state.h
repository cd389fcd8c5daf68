// The Model panel: what is loaded, where it lies, what else could be loaded.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace octavo {

struct ModelFileItem {
    std::string path = {};  // empty: the bundled model, or nothing that could be opened
    std::string name = {};
    std::string details = {};  // "qwen35moe, Q4_K_M, LM Studio: unsloth/Qwen3.6-35B-A3B-GGUF"
    int64_t bytes = 0;
    std::string problem = {};             // why it cannot be used; empty: it can
    std::string warning = {};             // that it needs more memory than there is; empty: nothing to say
    std::vector<std::string> notes = {};  // what of it is not used
};

// The models on this machine.
struct ModelList {
    std::vector<ModelFileItem> items;    // that can be loaded; last used first
    std::vector<ModelFileItem> refused;  // that cannot, each with its problem
};

struct ModelState {
    struct Loaded {
        std::string path = {};  // empty: bundled
        std::string name = {};
        std::string architecture = {};
        std::string parameters = {};    // "31.2 M parameters"
        std::string quantisation = {};  // "31.5 MiB Q8_0, 331.4 KiB F32"
        int64_t bytes = 0;
        int layers = 0;
        int attention_layers = 0;
        int64_t context_tokens = 0;  // the model's own limit
        std::string placement = {};  // "everything on the CPU"
    };
    std::optional<Loaded> loaded = {};

    struct Loading {
        std::string name = {};
        int64_t done_bytes = 0;
        int64_t total_bytes = 0;
        bool cancelling = false;
    };
    std::optional<Loading> loading = {};
    std::string error = {};  // of the last load

    struct Device {
        std::string id = {};  // "auto", "cpu", "cuda"
        std::string label = {};
        std::string unavailable = {};  // why; empty: it can be chosen
    };
    std::vector<Device> devices = {};
    std::string device = "auto";

    std::shared_ptr<const ModelList> list = std::make_shared<const ModelList>();
    bool searching = false;  // the list grows
    struct Folder {
        std::string path = {};
        std::string source = {};  // the program that keeps it; empty: the person chose it
        int models = 0;
        std::string error = {};  // why not everything in it was seen
    };
    std::vector<Folder> folders = {};
    std::string machine = {};  // "15.6 GiB RAM, 8 cores; no GPU": what it can run
};

}  // namespace octavo
