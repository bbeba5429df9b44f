#include "test/damaged_folders_test/damage.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "qkv/base/base64.h"
#include "qkv/base/checksum.h"
#include "qkv/base/file.h"

namespace qkv::test {
namespace {

namespace fs = std::filesystem;

// Numbers at the limits of integers of 32 and 64 bits, sizes and doubles.
const nlohmann::ordered_json limits[] = {INT32_MAX,  INT64_C(1) << 31,
                                         UINT32_MAX, INT64_C(1) << 32,
                                         INT64_MAX,  INT64_MIN,
                                         1 << 24,    (1 << 24) + 1,
                                         1000,       1001,
                                         1e-320,     1.7976931348623157e308,
                                         -0.0,       0.5,
                                         1,          2,
                                         3};

// Parts of tokenizer.json that are valid, but rarely in their place.
constexpr const char* parts[][2] = {
    {"normalizer",
     R"({"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"},
                      {"type": "Replace", "pattern": {"Regex": "a*"}, "content": "aaaa"}, {"type": "Nmt"}]})"},
    {"normalizer", R"({"type": "Replace", "pattern": {"String": "m"}, "content": ""})"},
    {"normalizer",
     R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true})"},
    {"normalizer", "null"},
    {"pre_tokenizer",
     R"({"type": "Split", "pattern": {"Regex": "(?=m)|"}, "behavior": "Isolated", "invert": true})"},
    {"pre_tokenizer",
     R"({"type": "Split", "pattern": {"Regex": "(a*)*b"}, "behavior": "Removed", "invert": false})"},
    {"pre_tokenizer", R"({"type": "Metaspace", "replacement": "a", "prepend_scheme": "always", "split": false})"},
    {"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})"},
    {"pre_tokenizer", "null"},
    {"post_processor", "null"},
    {"post_processor", R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})"},
    {"post_processor", R"({"type": "RobertaProcessing", "sep": ["a", 16777215], "cls": ["b", 0]})"},
    {"decoder", R"({"type": "BPEDecoder", "suffix": ""})"},
    {"decoder", R"({"type": "Replace", "pattern": {"Regex": ""}, "content": "x"})"},
    {"decoder", R"({"type": "Strip", "content": "m", "start": 2147483647, "stop": 2147483647})"},
    {"decoder", "null"},
    {"added_tokens", R"([{"id": 3, "content": "the", "special": true, "lstrip": true, "rstrip": true}])"},
    {"added_tokens", "[]"},
};
constexpr const char* part_names[] = {"normalizer", "pre_tokenizer", "post_processor",
                                      "decoder",    "model",         "added_tokens"};
constexpr const char* other_tokenizers[] = {"gpt2", "bert", "t5", "llama", "m2m100", "qwen2"};

template <class T>
T number_at(const std::string& bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}
template <class T>
void set_number(std::string& bytes, size_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

}  // namespace

std::string Damage::to(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  const fs::path& file = one_of(files);
  const std::string name = file.lexically_relative(folder).string(), ending = file.extension().string();
  const uint64_t kind = random_.below(10);
  if (kind == 0) {
    fs::remove(file);
    return name + " removed";
  }
  if (kind <= 3 && name == "tokenizer.json") return name + ": " + change_tokenizer(file);
  if (kind <= 6 && ending == ".json") return name + ": " + change_json(file);
  if (kind <= 5 && ending == ".safetensors") return name + ": " + change_header(file);
  if (kind <= 4 && ending == ".npz") return name + ": " + change_archive(file);
  if (kind <= 6 && ending != ".txt") return name + ": " + change_size(file);
  return name + ": " + change_bytes(file);
}

std::string Damage::change_bytes(const fs::path& file) {
  std::string bytes = read_file(file);
  const uint64_t kind = random_.below(4);
  if (bytes.empty()) return "empty";
  if (kind == 0) {
    bytes.resize(random_.below(bytes.size()));
  } else if (kind == 1) {
    bytes.insert(random_.below(bytes.size()),
                 std::string(1 + random_.below(64), static_cast<char>(random_.below(256))));
  } else {
    for (uint64_t n = 1 + random_.below(8); n > 0; --n)
      bytes[random_.below(bytes.size())] = static_cast<char>(random_.below(256));
  }
  write_file(file, bytes);
  return "bytes";
}

Damage::Json* Damage::random_node(Json& root) {
  Json* node = &root;
  for (int depth = 0; depth < 12 && node->is_structured() && !node->empty(); ++depth) {
    const uint64_t at = random_.below(node->size());
    node = node->is_array() ? &(*node)[at] : &std::next(node->begin(), static_cast<int64_t>(at)).value();
    if (random_.below(4) == 0) break;
  }
  return node;
}

Damage::Json Damage::strange_value() {
  switch (random_.below(13)) {
    case 0: return nullptr;
    case 1: return true;
    case 2: return -1;
    case 3: return 0;
    case 4: return int64_t{1} << 40;
    case 5: return UINT64_MAX;
    case 6: return 1e300;
    case 7: return "x";
    case 8: return std::string(5000, 'y');
    case 9: return Json::array({1, "a", Json::array()});
    case 10: return Json::object({{"type", "Sequence"}, {"a", 1}});
    case 11: return one_of(limits);
    default: {
      Json deep = 1;
      for (int i = 0; i < 60; ++i) deep = Json::array({deep});
      return deep;
    }
  }
}

std::string Damage::change_tree(Json& json) {
  Json* node = random_node(json);
  const uint64_t kind = random_.below(5);
  if (kind == 0 && node->is_object() && !node->empty()) {
    node->erase(std::next(node->begin(), static_cast<int64_t>(random_.below(node->size()))));
    return "a key removed";
  }
  if (kind == 1 && node->is_array() && !node->empty()) {
    const Json item = (*node)[random_.below(node->size())];
    for (int i = 0; i < 500; ++i) node->push_back(item);
    return "an item repeated";
  }
  if (kind == 2 && node->is_number_integer()) {
    *node = node->get<int64_t>() * (random_.below(2) == 0 ? 2 : 1000) + static_cast<int64_t>(random_.below(3)) - 1;
    return "a number changed";
  }
  if (kind == 3 && node->is_object() && node != &json) {
    const Json copy = json;
    (*node)["copy"] = copy;
    return "itself within it";
  }
  const Json value = strange_value();
  *node = value;
  return "a value is " + value.dump().substr(0, 40);
}

std::string Damage::change_json(const fs::path& file) {
  Json json = Json::parse(read_file(file), nullptr, false);
  if (json.is_discarded()) return change_bytes(file);
  const std::string what = change_tree(json);
  write_file(file, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return what;
}

// Shapes, offsets, types and names of tensors.
std::string Damage::change_header(const fs::path& file) {
  const std::string bytes = read_file(file);
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), 8);
  Json json = Json::parse(bytes.substr(8, size));
  std::string what;
  if (random_.below(3) == 0 && !json.empty()) {
    const auto at = std::next(json.begin(), static_cast<int64_t>(random_.below(json.size())));
    const Json value = at.value();
    what = "renamed " + at.key();
    const std::string name = at.key() + "x";
    json.erase(at);
    json[name] = value;
  } else {
    what = change_tree(json);
  }
  const std::string header = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const uint64_t length = header.size();
  write_file(file, std::string(reinterpret_cast<const char*>(&length), 8) + header + bytes.substr(8 + size));
  return what;
}

// A number of 32 bits that may be a size, anywhere in the file, or, in YAML, a number of its text.
std::string Damage::change_size(const fs::path& file) {
  std::string bytes = read_file(file);
  std::vector<size_t> places;
  for (size_t at = 0; at + 4 <= bytes.size(); ++at)
    if (const auto size = number_at<uint32_t>(bytes, at); size > 0 && size <= 4096) places.push_back(at);
  if (places.empty()) return change_bytes(file);
  const size_t at = one_of(places);
  const auto was = number_at<uint32_t>(bytes, at);
  const uint32_t is = one_of(std::array{uint32_t{0}, uint32_t{1}, was - 1, was + 1, 2 * was, 1000 * was,
                                        uint32_t{1} << 24, uint32_t{1} << 31, UINT32_MAX});
  set_number(bytes, at, is);
  write_file(file, bytes);
  return fmt::format("{} at byte {} is {}", was, at, is);
}

// A digit in the header of an array, or in the settings, with the checksums of the archive made right.
std::string Damage::change_archive(const fs::path& file) {
  std::string bytes = read_file(file);
  std::vector<size_t> entries;
  for (size_t at = bytes.find("PK\1\2"); at != bytes.npos; at = bytes.find("PK\1\2", at + 4)) entries.push_back(at);
  if (entries.empty()) return change_bytes(file);
  const size_t entry = one_of(entries);
  const size_t local = number_at<uint32_t>(bytes, entry + 42), size = number_at<uint32_t>(bytes, entry + 24);
  const size_t begin = local + 30 + number_at<uint16_t>(bytes, local + 26) + number_at<uint16_t>(bytes, local + 28);
  if (begin + size > bytes.size()) return change_bytes(file);
  std::vector<size_t> digits;
  for (size_t at = begin + 10; at < begin + std::min<size_t>(size, 600); ++at)
    if (bytes[at] >= '0' && bytes[at] <= '9') digits.push_back(at);
  if (digits.empty()) return change_bytes(file);
  const size_t at = one_of(digits);
  bytes[at] = one_of(std::array{'0', '1', '2', '3', '9', '-', ' ', ','});
  const uint32_t sum = crc32(std::string_view(bytes).substr(begin, size));
  set_number(bytes, local + 14, sum), set_number(bytes, entry + 16, sum);
  write_file(file, bytes);
  return fmt::format("a digit at byte {} is '{}'", at, bytes[at]);
}

// The strings of a character map, which follow its tree, are not text any more.
std::string Damage::break_character_map(Json& map) {
  std::string bytes = base64_decoded(map.get<std::string>(), "character map");
  const size_t strings = 4 + number_at<uint32_t>(bytes, 0);
  const size_t begin = random_.below(3) == 0 ? 4 : strings;
  if (begin >= bytes.size()) return "an empty character map";
  for (uint64_t n = 1 + random_.below(50); n > 0; --n)
    bytes[begin + random_.below(bytes.size() - begin)] = static_cast<char>(random_.below(256));
  if (random_.below(4) != 0) bytes.back() = '\0';
  map = base64_encoded(bytes);
  return "a character map";
}

std::string Damage::change_tokenizer(const fs::path& file) {
  Json json = Json::parse(read_file(file));
  std::string what;
  Json* map = nullptr;
  const auto find_map = [&](auto& self, Json& node) -> void {
    if (node.is_object() && node.contains("precompiled_charsmap")) map = &node["precompiled_charsmap"];
    if (node.is_structured())
      for (Json& child : node) self(self, child);
  };
  if (random_.below(2) == 0) find_map(find_map, json["normalizer"]);
  if (map != nullptr && map->is_string()) {
    what = break_character_map(*map);
  } else if (random_.below(2) == 0) {
    const auto& [name, text] = one_of(parts);
    json[name] = Json::parse(text);
    what = fmt::format("{} is {}", name, std::string(text).substr(0, 60));
  } else {
    const std::string name = one_of(part_names), from = one_of(other_tokenizers);
    json[name] =
        Json::parse(read_file(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / from / "tokenizer.json"))[name];
    what = fmt::format("{} is that of {}", name, from);
  }
  write_file(file, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return what;
}

}  // namespace qkv::test
