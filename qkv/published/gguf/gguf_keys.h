// The metadata of a GGUF file that is written: keys and values of the types that llama.cpp expects, in the order given.
//
//     GgufKeys keys;
//     keys.text("general.architecture", "llama");
//     keys.count("llama.block_count", 16);                     // uint32
//     keys.real("llama.rope.freq_base", 500000);               // float32
//     keys.metadata("llama.gguf")                              // as a reader sees them
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qkv/published/gguf/gguf_metadata.h"

namespace qkv {

class GgufKeys {
 public:
  void count(std::string_view key, int64_t value);
  void real(std::string_view key, double value);
  void flag(std::string_view key, bool value);
  void text(std::string_view key, std::string_view value);
  // Arrays.
  void texts(std::string_view key, const std::vector<std::string>& values);
  void integers(std::string_view key, const std::vector<int32_t>& values);
  void reals(std::string_view key, const std::vector<float>& values);
  void flags(std::string_view key, const std::vector<bool>& values);
  void data(std::string_view key, std::string_view bytes);

  uint64_t size() const { return count_; }
  const std::string& bytes() const { return bytes_; }  // as in the file
  GgufMetadata metadata(const std::string& file) const;

 private:
  void begin(std::string_view key, GgufType type);
  void begin_array(std::string_view key, GgufType items, size_t length);

  std::string bytes_;
  uint64_t count_ = 0;
};

// The little-endian bytes of a number, and a text behind its length, at the end of `to`.
template <class T>
void append_gguf(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(T));
}
void append_gguf_text(std::string& to, std::string_view text);

// The first bytes of a file: what stands before the keys.
std::string gguf_begin(uint64_t tensors, uint64_t keys);

}  // namespace qkv
