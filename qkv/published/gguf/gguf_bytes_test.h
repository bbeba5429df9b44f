// The bytes of a GGUF file, written as the format says, also where it must not be so.
//
//     GgufBytes file;
//     file.text("general.architecture", "llama").number<uint32_t>("llama.block_count", GgufType::u32, 2);
//     file.tensor("token_embd.weight", {32, 8}, 0, floats(256));
//     write_file("llama.gguf", file.bytes());
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/published/gguf/gguf_header.h"

namespace qkv::test {

class GgufBytes {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;
  std::string magic = "GGUF";

  template <class T>
  static void put(std::string& to, T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    to.append(bytes, sizeof(T));
  }
  static void put_text(std::string& to, std::string_view text) {
    put<uint64_t>(to, text.size());
    to += text;
  }

  // A key whose value is given as bytes.
  GgufBytes& key(std::string_view name, GgufType type, std::string_view value) {
    put_text(keys_, name);
    put(keys_, static_cast<uint32_t>(type));
    keys_ += value;
    ++key_count_;
    return *this;
  }
  template <class T>
  GgufBytes& number(std::string_view name, GgufType type, T value) {
    std::string bytes;
    put(bytes, value);
    return key(name, type, bytes);
  }
  GgufBytes& count(std::string_view name, uint32_t value) { return number(name, GgufType::u32, value); }
  GgufBytes& text(std::string_view name, std::string_view value) {
    std::string bytes;
    put_text(bytes, value);
    return key(name, GgufType::text, bytes);
  }
  GgufBytes& texts(std::string_view name, const std::vector<std::string>& values) {
    std::string bytes;
    put(bytes, static_cast<uint32_t>(GgufType::text));
    put<uint64_t>(bytes, values.size());
    for (const std::string& value : values) put_text(bytes, value);
    return key(name, GgufType::array, bytes);
  }
  template <class T>
  GgufBytes& numbers(std::string_view name, GgufType type, const std::vector<T>& values) {
    std::string bytes;
    put(bytes, static_cast<uint32_t>(type));
    put<uint64_t>(bytes, values.size());
    for (const T value : values) put(bytes, value);
    return key(name, GgufType::array, bytes);
  }

  // The lengths of the axes are in the order of the file, innermost first.
  GgufBytes& tensor(std::string_view name, const std::vector<uint64_t>& lengths, uint32_t type,
                    std::string_view numbers) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    entry(name, lengths, type, data_.size());
    data_ += numbers;
    return *this;
  }
  GgufBytes& entry(std::string_view name, const std::vector<uint64_t>& lengths, uint32_t type, uint64_t offset) {
    put_text(tensors_, name);
    put(tensors_, static_cast<uint32_t>(lengths.size()));
    for (const uint64_t length : lengths) put(tensors_, length);
    put(tensors_, type);
    put(tensors_, offset);
    ++tensor_count_;
    return *this;
  }

  std::string bytes() const {
    std::string out = magic;
    put(out, version);
    put(out, tensor_count_);
    put(out, key_count_);
    out += keys_ + tensors_;
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

 private:
  std::string keys_, tensors_, data_;
  uint64_t key_count_ = 0, tensor_count_ = 0;
};

inline std::string floats(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) GgufBytes::put(out, static_cast<float>(i) / 8);
  return out;
}

}  // namespace qkv::test
