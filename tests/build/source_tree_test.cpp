// What holds for every file of the tree: folders depend downward only, the operating system is met in
// platform files only, nothing is huge, and nothing names the machine that it was written on.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace octavo {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
    std::string path;  // relative to the root, with '/'
    std::string content;
};

bool is_ignored(const std::string& top_folder) {
    return top_folder == "build" || top_folder == ".git" || top_folder == ".cache";
}

std::vector<SourceFile> read_tree() {
    const fs::path root = OCTAVO_SOURCE_DIR;
    std::vector<SourceFile> files;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
        const fs::path path = it->path().lexically_relative(root);
        if (it.depth() == 0 && is_ignored(path.string()))
            it.disable_recursion_pending();
        else if (it->is_regular_file()) {
            std::ifstream in(it->path(), std::ios::binary);
            files.push_back({path.generic_string(), {std::istreambuf_iterator<char>(in), {}}});
        }
    }
    return files;
}

const std::vector<SourceFile>& tree() {
    static const std::vector<SourceFile> files = read_tree();
    return files;
}

std::string top_folder(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

// Higher folders may use lower ones; tests may use all. Anything else is not part of the program.
int level(std::string_view path) {
    static const std::vector<std::string> order = {"kernels", "models", "runtime", "ui", "app", "tests"};
    const auto found = std::find(order.begin(), order.end(), top_folder(path));
    return found == order.end() ? -1 : static_cast<int>(found - order.begin());
}

// The names in a file's #include lines, with their quotes or angle brackets.
std::vector<std::string> includes_of(const SourceFile& file) {
    static const std::regex line(R"(^[ \t]*#[ \t]*include[ \t]*(["<][^">]+[">]))", std::regex::multiline);
    std::vector<std::string> names;
    for (std::sregex_iterator it(file.content.begin(), file.content.end(), line), end; it != end; ++it)
        names.push_back((*it)[1]);
    return names;
}

// Calls check(file, name) for every #include of the program's own folders and the tests.
template <typename Check>
void for_each_include(Check check) {
    for (const SourceFile& file : tree()) {
        const std::string extension = fs::path(file.path).extension();
        if (level(file.path) < 0 ||
            (extension != ".cpp" && extension != ".h" && extension != ".cu" && extension != ".cuh"))
            continue;
        for (const std::string& name : includes_of(file)) check(file, name);
    }
}

TEST(SourceTree, WasFound) { EXPECT_GT(tree().size(), 20u); }

TEST(SourceTree, FoldersDependDownwardOnly) {
    for_each_include([](const SourceFile& file, const std::string& name) {
        if (name.front() != '"') return;
        const std::string path = name.substr(1, name.size() - 2);
        ASSERT_GE(level(path), 0) << file.path << " includes " << name << ": name it from the root of the tree";
        EXPECT_LE(level(path), level(file.path)) << file.path << " includes " << name << " of a higher folder";
    });
}

// What the design says each folder must not know, beyond the order of folders.
TEST(SourceTree, FoldersDoNotKnowEachOthersLibraries) {
    struct Rule {
        const char* header;  // regular expression, quotes or brackets included
        const char* users;   // regular expression of the paths that may include it
    };
    static const Rule rules[] = {
        {"<sqlite3\\.h>", "(app/store|tests)/.*"},
        {"[\"<](imgui.*|GLFW/.*)[\">]", "(ui|tests)/.*"},
        {"<cuda.*>", "(kernels|tests)/.*"},
        {"<nlohmann/.*>", ".*\\.cpp"},
        {"<sentencepiece.*>", "(models/.*\\.cpp|tests/.*)"},
        {"\"kernels/(?!base/).*", "(kernels|models|runtime|tests)/.*"},
    };
    for_each_include([](const SourceFile& file, const std::string& name) {
        for (const Rule& rule : rules)
            if (std::regex_match(name, std::regex(rule.header))) {
                EXPECT_TRUE(std::regex_match(file.path, std::regex(rule.users))) << file.path << " includes " << name;
            }
    });
}

TEST(SourceTree, OperatingSystemIsMetInPlatformFilesOnly) {
    static const std::regex os_header(
        R"(<(sys/.*|unistd\.h|windows\.h|fcntl\.h|pthread\.h|dlfcn\.h|sched\.h|signal\.h|termios\.h|poll\.h|io\.h)>)");
    for_each_include([](const SourceFile& file, const std::string& name) {
        if (std::regex_match(name, os_header)) {
            EXPECT_NE(fs::path(file.path).filename().string().find("platform"), std::string::npos)
                << file.path << " includes " << name << ": only *platform* files may";
        }
    });
}

TEST(SourceTree, FilesAreSmall) {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    std::size_t total_bytes = 0;
    for (const SourceFile& file : tree()) {
        total_bytes += file.content.size();
        if (file.path.starts_with("models/bundled/")) continue;
        const bool checkpoint = file.path.starts_with("tests/fixtures/checkpoints/");
        EXPECT_LT(file.content.size(), checkpoint ? 2 * kMiB : kMiB / 2) << file.path;
    }
    EXPECT_LT(total_bytes, 55 * kMiB);
}

// Whether an absolute path begins at text[at]: at the start of a word, perhaps after its opening quote.
bool begins_a_path(std::string_view text, std::size_t at) {
    constexpr std::string_view quotes = "\"'`";
    constexpr std::string_view before_a_word = " \t\n([{<=,:";
    if (at > 0 && quotes.find(text[at - 1]) != std::string_view::npos) --at;
    return at == 0 || before_a_word.find(text[at - 1]) != std::string_view::npos;
}

bool names_path(std::string_view text, std::string_view path) {
    for (std::size_t at = text.find(path); at != std::string_view::npos; at = text.find(path, at + 1))
        if (begins_a_path(text, at)) return true;
    return false;
}

TEST(SourceTree, NamesNoPathOfThisMachine) {
    std::vector<std::string> paths = {OCTAVO_SOURCE_DIR};
    const std::string parent = fs::path(OCTAVO_SOURCE_DIR).parent_path();
    if (parent.size() > 1 && parent != fs::temp_directory_path()) paths.push_back(parent + "/");
    if (const char* home = std::getenv("HOME"); home != nullptr && std::string_view(home).size() > 1)
        paths.push_back(std::string(home) + "/");
    for (const SourceFile& file : tree())
        for (const std::string& path : paths)
            EXPECT_FALSE(names_path(file.content, path)) << file.path << " names " << path;
}

}  // namespace
}  // namespace octavo
