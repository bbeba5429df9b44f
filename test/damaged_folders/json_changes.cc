#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "test/damaged_folders/change.h"
#include "test/damaged_folders/safetensors_header.h"

namespace qkv::test {
namespace {

using Json = nlohmann::ordered_json;

// What integers of 32 and 64 bits, sizes and doubles can just hold, or not.
const Json limits[] = {INT32_MAX,  INT64_C(1) << 31,
                       UINT32_MAX, INT64_C(1) << 32,
                       INT64_MAX,  INT64_MIN,
                       1 << 24,    (1 << 24) + 1,
                       1000,       1001,
                       1e-320,     1.7976931348623157e308,
                       -0.0,       0.5,
                       1,          2,
                       3};

Json strange_value(Random& random) {
  switch (random.below(13)) {
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
    case 11: return one_of(limits, random);
    default: {
      Json deep = 1;
      for (int i = 0; i < 60; ++i) deep = Json::array({deep});
      return deep;
    }
  }
}

Json* random_node(Json& root, Random& random) {
  Json* node = &root;
  for (int depth = 0; depth < 12 && node->is_structured() && !node->empty(); ++depth) {
    const size_t at = below(node->size(), random);
    node = node->is_array() ? &(*node)[at] : &std::next(node->begin(), static_cast<int64_t>(at)).value();
    if (random.below(4) == 0) break;
  }
  return node;
}

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 40);
}

// A value of the same type, as a hand would write it.
Json similar_value(const Json& value, Json& root, Random& random) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return one_of(std::array{0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 200}, random);
  if (value.is_number()) return one_of(std::array{0.0, 0.1, 0.5, 1.0, 2.0, -1.0, 1e-6, 1e4, -1e4}, random);
  if (value.is_array() && !value.empty()) {
    Json list = value;
    if (random.below(2) == 0) std::reverse(list.begin(), list.end());
    if (random.below(2) == 0) list.erase(list.begin() + static_cast<int64_t>(list.size() / 2), list.end());
    return list;
  }
  for (int tries = 0; tries < 100; ++tries)
    if (const Json* other = random_node(root, random); other->type() == value.type()) return *other;
  return value;
}

std::string change_tree(Json& json, Random& random) {
  Json* node = random_node(json, random);
  const uint64_t kind = random.below(12);
  if (kind == 0 && node->is_object() && !node->empty()) {
    const auto at = std::next(node->begin(), static_cast<int64_t>(below(node->size(), random)));
    const std::string key = at.key();
    node->erase(at);
    return "without the key " + key;
  }
  if (kind == 1 && node->is_array() && !node->empty()) {
    const Json item = (*node)[below(node->size(), random)];
    for (int i = 0; i < 500; ++i) node->push_back(item);
    return "an item 500 times more: " + shown(item);
  }
  if (kind == 2 && node->is_number_integer()) {
    const auto was = node->get<uint64_t>();
    *node = static_cast<int64_t>(was * (random.below(2) == 0 ? 2 : 1000) + random.below(3) - 1);
    return fmt::format("the number {} is now {}", was, shown(*node));
  }
  if (kind == 3 && node->is_object() && node != &json) {
    const Json copy = json;
    (*node)["copy"] = copy;
    return "itself within it";
  }
  const Json was = *node, value = kind == 4  ? *random_node(json, random)
                                  : kind > 5 ? similar_value(was, json, random)
                                             : strange_value(random);
  *node = value;
  return fmt::format("{} is now {}", shown(was), shown(value));
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string rename_tensor(Json& header, Random& random) {
  const auto at = std::next(header.begin(), static_cast<int64_t>(below(header.size(), random)));
  const std::string name = at.key();
  const Json value = at.value();
  header.erase(at);
  header[name + "x"] = value;
  return "renamed " + name;
}

}  // namespace

std::string change_json(std::string& bytes, Random& random) {
  Json json = Json::parse(bytes, nullptr, false);
  if (json.is_discarded()) return "";
  const std::string what = change_tree(json, random);
  bytes = text_of(json);
  return what;
}

std::string change_header(std::string& bytes, Random& random) {
  const auto size = header_size(bytes);
  if (!size) return "";
  Json header = Json::parse(bytes.substr(header_begin, *size), nullptr, false);
  if (!header.is_object() || header.empty()) return "";
  const std::string what = random.below(3) == 0 ? rename_tensor(header, random) : change_tree(header, random);
  set_header(bytes, text_of(header));
  return what;
}

}  // namespace qkv::test
