#include "qkv/published/gguf/gguf_keys.h"

#include <cstring>

#include "qkv/base/error.h"
#include "qkv/published/gguf/gguf_header.h"

namespace qkv {

void append_gguf_text(std::string& to, std::string_view text) {
  append_gguf<uint64_t>(to, text.size());
  to += text;
}

std::string gguf_begin(uint64_t tensors, uint64_t keys) {
  constexpr uint32_t version = 3;
  std::string out(gguf_magic);
  append_gguf(out, version);
  append_gguf(out, tensors);
  append_gguf(out, keys);
  return out;
}

void GgufKeys::begin(std::string_view key, GgufType type) {
  append_gguf_text(bytes_, key);
  append_gguf(bytes_, static_cast<uint32_t>(type));
  ++count_;
}
void GgufKeys::begin_array(std::string_view key, GgufType items, size_t length) {
  begin(key, GgufType::array);
  append_gguf(bytes_, static_cast<uint32_t>(items));
  append_gguf<uint64_t>(bytes_, length);
}

void GgufKeys::count(std::string_view key, int64_t value) {
  require(value >= 0 && value <= int64_t{UINT32_MAX}, "GGUF", "'{}' must be a uint32, got {}", key, value);
  begin(key, GgufType::u32);
  append_gguf(bytes_, static_cast<uint32_t>(value));
}
void GgufKeys::real(std::string_view key, double value) {
  begin(key, GgufType::f32);
  append_gguf(bytes_, static_cast<float>(value));
}
void GgufKeys::flag(std::string_view key, bool value) {
  begin(key, GgufType::boolean);
  append_gguf<uint8_t>(bytes_, value);
}
void GgufKeys::text(std::string_view key, std::string_view value) {
  begin(key, GgufType::text);
  append_gguf_text(bytes_, value);
}

void GgufKeys::texts(std::string_view key, const std::vector<std::string>& values) {
  begin_array(key, GgufType::text, values.size());
  for (const std::string& value : values) append_gguf_text(bytes_, value);
}
void GgufKeys::integers(std::string_view key, const std::vector<int32_t>& values) {
  begin_array(key, GgufType::i32, values.size());
  for (const int32_t value : values) append_gguf(bytes_, value);
}
void GgufKeys::reals(std::string_view key, const std::vector<float>& values) {
  begin_array(key, GgufType::f32, values.size());
  for (const float value : values) append_gguf(bytes_, value);
}
void GgufKeys::flags(std::string_view key, const std::vector<bool>& values) {
  begin_array(key, GgufType::boolean, values.size());
  for (const bool value : values) append_gguf<uint8_t>(bytes_, value);
}
void GgufKeys::data(std::string_view key, std::string_view bytes) {
  begin_array(key, GgufType::u8, bytes.size());
  bytes_ += bytes;
}

GgufMetadata GgufKeys::metadata(const std::string& file) const {
  const std::string all = gguf_begin(0, count_) + bytes_;
  const auto read = [&](int64_t begin, std::span<std::byte> to) {
    std::memcpy(to.data(), all.data() + begin, to.size());
  };
  return read_gguf_header(read, std::ssize(all), file).metadata;
}

}  // namespace qkv
