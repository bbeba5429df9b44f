#include "qkv/tensor/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

using nlohmann::json;

// Bytes of one number, 0 for a type that the format does not have.
int64_t size_of_dtype(std::string_view name) {
  static constexpr std::pair<std::string_view, int64_t> sizes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
      {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};
  for (const auto& [known, bytes] : sizes)
    if (known == name) return bytes;
  return 0;
}

// A SAX parser that accepts only the structure of a header, so that no header, however deep or long, needs more
// memory than its own size. depth_ is the number of open braces and brackets:
//     1: names   2: the fields of a tensor, or metadata   3: the numbers of "shape" or "data_offsets"
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  HeaderReader(const std::string& file_name, SafetensorsHeader& header) : file_(file_name), header_(header) {}

  bool key(string_t& text) override {
    if (depth_ == 1) {
      if (text == safetensors_metadata_key) {
        refuse_if(std::exchange(has_metadata_, true), "{} occurs twice", safetensors_metadata_key);
        in_metadata_ = true;
      } else {
        refuse_if(!names_.insert(text).second, "two tensors have the name {}", quoted_name(text));
        in_metadata_ = false;
        entry_ = SafetensorsEntry();
        entry_.name = text;
        shape_.reset();
        offsets_.reset();
      }
    } else {
      refuse_if(in_metadata_ && header_.metadata.contains(text), "metadata {} occurs twice", quoted_name(text));
      key_ = text;
    }
    return true;
  }

  bool start_object(size_t) override {
    refuse_if(depth_ >= 2, "{}: expected {}, got an object", where(), expected());
    ++depth_;
    return true;
  }

  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_) finish_entry();
    return true;
  }

  bool start_array(size_t) override {
    if (depth_ != 2 || in_metadata_ || !(key_ == "shape" || key_ == "data_offsets")) return unexpected("an array");
    auto& list = key_ == "shape" ? shape_ : offsets_;
    refuse_if(list.has_value(), "{}: {} occurs twice", where(), key_);
    list.emplace();
    ++depth_;
    return true;
  }

  bool end_array() override { return --depth_, true; }

  bool string(string_t& text) override {
    if (depth_ != 2) return unexpected("a string");
    if (in_metadata_) {
      header_.metadata.emplace(key_, text);
    } else {
      if (key_ != "dtype") return unexpected("a string");
      refuse_if(!entry_.dtype.empty(), "{}: dtype occurs twice", where());
      refuse_if(size_of_dtype(text) == 0, "{}: dtype {} is unknown", where(), quoted_name(text));
      entry_.dtype = text;
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3) return unexpected(fmt::to_string(value));
    refuse_if(value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), "{}: {} {} is too large", where(),
              key_, value);
    auto& list = key_ == "shape" ? *shape_ : *offsets_;
    refuse_if(list.size() == Shape::max_rank, "{}: {} has more than {} numbers", where(), key_, Shape::max_rank);
    list.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool number_integer(number_integer_t value) override { return unexpected(fmt::to_string(value)); }
  bool number_float(number_float_t value, const string_t&) override { return unexpected(fmt::to_string(value)); }
  bool null() override { return unexpected("null"); }
  bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
  bool binary(json::binary_t&) override { return unexpected("bytes"); }

  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    fail<InputError>("safetensors", "{}: the header is not valid JSON at its byte {}", file_, position);
  }

 private:
  template <class... Args>
  void refuse_if(bool wrong, fmt::format_string<Args...> format, Args&&... args) const {
    if (wrong) fail<InputError>("safetensors", "{}: {}", file_, fmt::format(format, std::forward<Args>(args)...));
  }

  bool unexpected(std::string_view got) const {
    refuse_if(true, "{}: expected {}, got {}", where(), expected(), got);
    return false;
  }

  std::string where() const {
    if (depth_ == 0) return "the header";
    return in_metadata_ ? std::string(safetensors_metadata_key) : "tensor " + quoted_name(entry_.name).text();
  }

  std::string expected() const {
    if (depth_ <= 1) return "an object";
    if (in_metadata_) return "a string for " + quoted_name(key_).text();
    if (key_ == "dtype") return "a string for dtype";
    if (key_ == "shape" || key_ == "data_offsets") return "a list of whole numbers >= 0 for " + key_;
    return "the fields dtype, shape and data_offsets, not " + quoted_name(key_).text();
  }

  void finish_entry() {
    refuse_if(entry_.dtype.empty() || !shape_ || !offsets_, "{}: {} is missing", where(),
              entry_.dtype.empty() ? "dtype"
              : !shape_            ? "shape"
                                   : "data_offsets");
    refuse_if(offsets_->size() != 2, "{}: data_offsets must be two numbers, got {}", where(), offsets_->size());
    entry_.shape = Shape(*shape_);
    entry_.begin = (*offsets_)[0];
    entry_.end = (*offsets_)[1];
    refuse_if(entry_.begin > entry_.end, "{}: offsets [{}, {}) end before they begin", where(), entry_.begin,
              entry_.end);
    // Checked even if another axis has length zero: strides are products too.
    int64_t largest = size_of_dtype(entry_.dtype);
    for (const int64_t dim : entry_.shape)
      refuse_if(__builtin_mul_overflow(largest, std::max<int64_t>(dim, 1), &largest) || largest > int64_t{1} << 56,
                "{}: shape {} has too many elements", where(), to_string(entry_.shape));
    const int64_t bytes = entry_.shape.numel() * size_of_dtype(entry_.dtype);
    refuse_if(bytes != entry_.end - entry_.begin, "{}: offsets [{}, {}) hold {} bytes, {} of shape {} are {} bytes",
              where(), entry_.begin, entry_.end, entry_.end - entry_.begin, entry_.dtype, to_string(entry_.shape),
              bytes);
    header_.entries.push_back(std::move(entry_));
  }

  const std::string& file_;
  SafetensorsHeader& header_;
  int depth_ = 0;
  bool in_metadata_ = false, has_metadata_ = false;
  std::set<std::string> names_;
  std::string key_;
  SafetensorsEntry entry_;
  std::optional<std::vector<int64_t>> shape_, offsets_;
};

// Sorted by offset, the tensors must cover the data without gaps or overlaps.
void check_cover(std::vector<SafetensorsEntry>& entries, int64_t data_bytes, const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  int64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    require<InputError>(entry.end <= data_bytes, "safetensors",
                        "{}: tensor {}: offsets [{}, {}), but the file has {} bytes of data", file,
                        quoted_name(entry.name), entry.begin, entry.end, data_bytes);
    require<InputError>(entry.begin == at, "safetensors",
                        "{}: tensor {}: offsets [{}, {}) {}, expected to begin at {}", file,
                        quoted_name(entry.name), entry.begin, entry.end,
                        entry.begin < at ? "overlap those of another tensor" : "leave a gap", at);
    at = entry.end;
  }
  require<InputError>(at == data_bytes, "safetensors", "{}: {} bytes of data, but the tensors end at {}", file,
                      data_bytes, at);
}

}  // namespace

int64_t safetensors_header_end(std::string_view bytes, int64_t file_bytes, const std::string& file) {
  require<InputError>(bytes.size() >= 8, "safetensors", "{}: {} bytes, too short for a safetensors file", file,
                      file_bytes);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  require<InputError>(length <= safetensors_header_limit, "safetensors",
                      "{}: the header would be {} bytes long, the format allows {}: is this a safetensors file?",
                      file, length, safetensors_header_limit);
  require<InputError>(length <= static_cast<uint64_t>(file_bytes - 8), "safetensors",
                      "{}: the header would be {} bytes long, the file has {} after its length", file, length,
                      file_bytes - 8);
  return static_cast<int64_t>(8 + length);
}

SafetensorsHeader parse_safetensors_header(std::string_view bytes, int64_t file_bytes, const std::string& file) {
  SafetensorsHeader header;
  header.data_begin = safetensors_header_end(bytes, file_bytes, file);
  const std::string_view text = bytes.substr(8, static_cast<size_t>(header.data_begin) - 8);
  require<InputError>(text.starts_with('{'), "safetensors", "{}: the header does not begin with '{{'", file);
  HeaderReader reader(file, header);
  json::sax_parse(text.begin(), text.end(), &reader);
  check_cover(header.entries, file_bytes - header.data_begin, file);
  return header;
}

}  // namespace qkv
