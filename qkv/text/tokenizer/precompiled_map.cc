#include "qkv/text/tokenizer/precompiled_map.h"

#include <cstring>

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {

PrecompiledMap::PrecompiledMap(std::string_view bytes, const std::string& where) {
  uint32_t size = 0;
  const bool fits = bytes.size() >= 4 && (std::memcpy(&size, bytes.data(), 4), size % 4 == 0) && size >= 4 &&
                    size <= bytes.size() - 4;
  require<InputError>(fits, where, "a character map of {} bytes is damaged", bytes.size());
  units_.resize(size / 4);
  std::memcpy(units_.data(), bytes.data() + 4, size);
  strings_ = bytes.substr(4 + size);
  require<InputError>(strings_.empty() || strings_.back() == '\0', where, "a character map ends within a string");
  require<InputError>(!utf8_error(strings_), where, "the texts of a character map are not UTF-8");
}

// A unit has a label, the distance to its children and whether it has a value, which is their unit of label 0 (Aoe,
// 1989).
std::optional<std::string_view> PrecompiledMap::find(std::string_view text) const {
  const auto distance = [](uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); };
  size_t node = distance(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) return {};
    node ^= byte;
    if (node >= units_.size()) return {};
    const uint32_t unit = units_[node];
    if ((unit & (1u << 31 | 0xffu)) != byte) return {};
    node ^= distance(unit);
    if ((unit >> 8 & 1u) == 0) continue;
    if (node >= units_.size()) return {};
    const size_t value = units_[node] & 0x7fffffffu;
    const bool is_text = value < strings_.size() && (static_cast<unsigned char>(strings_[value]) & 0xc0) != 0x80;
    if (!is_text) return {};
    return std::string_view(strings_.c_str() + value);
  }
  return {};
}

}  // namespace qkv
