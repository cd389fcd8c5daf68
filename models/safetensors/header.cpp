#include "models/safetensors/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "models/tensors/foreign_file.h"
#include "models/tensors/quote_name.h"

namespace octavo {
namespace {

constexpr uint64_t kMaxHeaderBytes = 64 << 20;  // an 80B model with single experts takes 11 MB in all files
constexpr size_t kMaxTensors = 1 << 18;
constexpr size_t kMaxDims = 8;

struct Dtype {
    std::string_view name;
    uint64_t bytes;
    std::optional<WeightType> weight = {};  // none: a type that weights cannot have by itself
};
constexpr Dtype kDtypes[] = {{"F32", 4, WeightType::f32},
                             {"F16", 2, WeightType::f16},
                             {"BF16", 2, WeightType::bf16},
                             {"F8_E4M3", 1, WeightType::f8_e4m3},
                             {"F64", 8},
                             {"I64", 8},
                             {"I32", 4},
                             {"I16", 2},
                             {"I8", 1},
                             {"U64", 8},
                             {"U32", 4},
                             {"U16", 2},
                             {"U8", 1},
                             {"BOOL", 1},
                             {"F8_E5M2", 1},
                             {"F8_E8M0", 1}};

template <class... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
    return {ErrorKind::input, fmt::format(format, std::forward<Args>(args)...)};
}

// One tensor as the header states it, unchecked.
struct Entry {
    std::string name;
    std::string dtype;
    std::vector<uint64_t> shape;
    std::vector<uint64_t> offsets;
};

Result<uint64_t> count_elements(const Entry& entry) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 8;
    uint64_t elements = 1;
    for (const uint64_t extent : entry.shape) {
        if (extent > kMost || (elements > 0 && extent > kMost / std::max<uint64_t>(elements, 1))) {
            return bad("tensor {} claims more values than memory has", quote_name(entry.name));
        }
        elements *= extent;
    }
    return elements;
}

Result<StoredTensor> check_entry(const Entry& entry, std::span<const std::byte> data) {
    if (entry.name.empty()) return bad("a tensor has an empty name");
    if (entry.dtype.empty() || entry.offsets.size() != 2) {
        return bad("the header entry of tensor {} lacks dtype or data_offsets", quote_name(entry.name));
    }
    const uint64_t first = entry.offsets[0];
    const uint64_t last = entry.offsets[1];
    if (first > last || last > data.size()) {
        return bad("tensor {} (bytes {} to {} of {}) goes beyond the end of the file; the file is cut off or broken",
                   quote_name(entry.name), first, last, data.size());
    }
    const Result<uint64_t> elements = count_elements(entry);
    if (!elements) return elements.error();

    StoredTensor tensor;
    const auto* dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                     [&](const Dtype& known) { return known.name == entry.dtype; });
    if (dtype != std::end(kDtypes)) {
        if (*elements * dtype->bytes != last - first) {
            return bad("tensor {} has {} bytes of data; its shape and type {} need {}", quote_name(entry.name),
                       last - first, entry.dtype, *elements * dtype->bytes);
        }
        if (dtype->weight) tensor.weight = &weight_type_spec(*dtype->weight);
    }
    tensor.name = entry.name;
    tensor.type_name = entry.dtype;
    tensor.shape.assign(entry.shape.begin(), entry.shape.end());
    tensor.data = data.subspan(first, last - first);
    return tensor;
}

// Receives the header's JSON event by event. Depth 1 is the whole, 2 one tensor (or __metadata__), 3 a list in it.
class HeaderEvents final : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit HeaderEvents(std::span<const std::byte> data) : data_(data) {}

    std::vector<StoredTensor> take_tensors() { return std::move(tensors_); }
    const Error& error() const { return error_; }

    bool key(std::string& text) override {
        if (depth_ == 1) {
            in_metadata_ = text == "__metadata__";
            entry_.name = text;
            entry_.dtype.clear();
            entry_.shape.clear();
            entry_.offsets.clear();
        } else if (depth_ == 2) {
            field_ = text;
        }
        return true;
    }
    bool start_object(std::size_t) override {
        ++depth_;
        return (depth_ <= 2 || in_metadata_) || unexpected();
    }
    bool end_object() override {
        if (depth_-- != 2 || in_metadata_) return true;
        if (tensors_.size() == kMaxTensors) return fail(bad("the header has more than {} tensors", kMaxTensors));
        Result<StoredTensor> tensor = check_entry(entry_, data_);
        if (!tensor) return fail(tensor.error());
        tensors_.push_back(std::move(*tensor));
        return true;
    }
    bool start_array(std::size_t) override {
        ++depth_;
        if (in_metadata_ && depth_ > 1) return true;
        if (depth_ != 3) return unexpected();
        list_ = field_ == "shape" ? &entry_.shape : field_ == "data_offsets" ? &entry_.offsets : nullptr;
        if (!list_) return unexpected();
        list_->clear();
        return true;
    }
    bool end_array() override {
        --depth_;
        return true;
    }
    bool string(std::string& text) override {
        if (in_metadata_ && depth_ > 1) return true;
        if (depth_ != 2 || field_ != "dtype") return unexpected();
        entry_.dtype = text;
        return true;
    }
    bool number_unsigned(uint64_t value) override {
        if (in_metadata_ && depth_ > 1) return true;
        if (depth_ != 3 || list_->size() == kMaxDims) return unexpected();
        list_->push_back(value);
        return true;
    }
    bool number_integer(int64_t) override { return other(); }
    bool number_float(double, const std::string&) override { return other(); }
    bool boolean(bool) override { return other(); }
    bool null() override { return other(); }
    bool binary(nlohmann::json::binary_t&) override { return other(); }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
        return fail(bad("the header is not valid JSON (at byte {} of it)", position));
    }

  private:
    bool other() { return (in_metadata_ && depth_ > 1) || unexpected(); }
    bool unexpected() {
        if (depth_ < 2) return fail(bad("the header is not a JSON object of tensors"));
        return fail(
            bad("the header entry of tensor {} is not made of dtype, shape and data_offsets", quote_name(entry_.name)));
    }
    bool fail(Error error) {
        error_ = std::move(error);
        return false;
    }

    std::span<const std::byte> data_;
    int depth_ = 0;
    bool in_metadata_ = false;
    Entry entry_;  // used again and again: a header may have 200,000
    std::string field_;
    std::vector<uint64_t>* list_ = nullptr;
    std::vector<StoredTensor> tensors_;
    Error error_;
};

Status check_overlap(const std::vector<StoredTensor>& tensors) {
    std::vector<size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return tensors[a].data.data() < tensors[b].data.data(); });
    const StoredTensor* before = nullptr;
    for (const size_t index : order) {
        const StoredTensor& tensor = tensors[index];
        if (tensor.data.empty()) continue;
        if (before && tensor.data.data() < before->data.data() + before->data.size()) {
            return bad("tensor {} overlaps tensor {}", quote_name(tensor.name), quote_name(before->name));
        }
        before = &tensor;
    }
    return {};
}

// Collects the values of "weight_map"; everything else is passed over.
class IndexEvents final : public nlohmann::json_sax<nlohmann::json> {
  public:
    std::vector<std::string>& files() { return files_; }
    bool key(std::string& text) override {
        if (depth_ == 1) in_map_ = text == "weight_map";
        return true;
    }
    bool string(std::string& text) override {
        if (!in_map_ || depth_ != 2) return true;
        // Neighbours mostly lie in the same file; this keeps the list short before it is made unique.
        if (files_.empty() || files_.back() != text) files_.push_back(text);
        return true;
    }
    bool start_object(std::size_t) override { return ++depth_, true; }
    bool end_object() override { return --depth_, true; }
    bool start_array(std::size_t) override { return ++depth_, true; }
    bool end_array() override { return --depth_, true; }
    bool number_unsigned(uint64_t) override { return true; }
    bool number_integer(int64_t) override { return true; }
    bool number_float(double, const std::string&) override { return true; }
    bool boolean(bool) override { return true; }
    bool null() override { return true; }
    bool binary(nlohmann::json::binary_t&) override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

  private:
    int depth_ = 0;
    bool in_map_ = false;
    std::vector<std::string> files_;
};

}  // namespace

Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> bytes) {
    uint64_t header_bytes = 0;
    if (bytes.size() < sizeof header_bytes) return bad("the file ends inside the header length");
    std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
    const auto rest = bytes.subspan(sizeof header_bytes);
    if (header_bytes > rest.size() || header_bytes > kMaxHeaderBytes) {
        if (const std::string_view kind = foreign_file(bytes); !kind.empty()) return bad("it is {}", kind);
        return bad("the header claims {} bytes; the file has {} and at most {} are accepted", header_bytes, rest.size(),
                   kMaxHeaderBytes);
    }
    const std::string_view header(reinterpret_cast<const char*>(rest.data()), header_bytes);
    HeaderEvents events(rest.subspan(header_bytes));
    if (!nlohmann::json::sax_parse(header.begin(), header.end(), &events)) return events.error();
    std::vector<StoredTensor> tensors = events.take_tensors();
    if (Status status = check_overlap(tensors); !status) return status.error();
    return tensors;
}

Result<std::vector<std::string>> parse_safetensors_index(std::string_view json) {
    IndexEvents events;
    if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events)) return bad("it is not valid JSON");
    std::vector<std::string>& files = events.files();
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    if (files.empty()) return bad("its 'weight_map' names no files");
    for (const std::string& file : files) {
        if (!file.ends_with(".safetensors") || file.find_first_of("/\\:") != std::string::npos ||
            file.starts_with('.') || file.find('\0') != std::string::npos) {
            return bad("its 'weight_map' names the file {}; expected a .safetensors file of the same folder",
                       quote_name(file));
        }
    }
    return std::move(files);
}

}  // namespace octavo
