// The metadata of a GGUF file: keys and typed values.
//
//     metadata.text("general.architecture")                        // "llama"; an InputError where it is missing
//     metadata.integer("llama.block_count")                        // of any integer type
//     metadata.number("llama.rope.freq_base", 10000.0)             // where it is missing: 10000
//     for (const std::string& token : metadata.texts("tokenizer.ggml.tokens")) ...
//
// Errors: InputError that names the file and the key, for a value of another type and for a missing one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace qkv {

// As numbered in the file.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
inline constexpr uint32_t gguf_types = 13;
const char* name_of(GgufType type);
int size_of(GgufType type);  // 0: of a text or an array

struct GgufArray {
  GgufType type = GgufType::u8;  // of the items
  uint64_t count = 0;
  std::string bytes = {};               // of numbers, as in the file
  std::vector<std::string> texts = {};  // arrays of arrays are read over: no key that is used has them
};
using GgufValue = std::variant<int64_t, uint64_t, double, bool, std::string, GgufArray>;

class GgufMetadata {
 public:
  explicit GgufMetadata(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }  // for messages
  void add(std::string key, GgufValue value);        // InputError for a second value of a key
  bool has(std::string_view key) const { return values_.find(key) != values_.end(); }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }

  int64_t integer(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t absent) const;
  double number(std::string_view key) const;
  double number(std::string_view key, double absent) const;
  bool flag(std::string_view key, bool absent) const;
  std::string text(std::string_view key) const;  // valid UTF-8
  std::string text(std::string_view key, const std::string& absent) const;
  // Of an array; missing: none. Texts are valid UTF-8.
  const std::vector<std::string>& texts(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::string bytes(std::string_view key) const;  // of an array of bytes
  bool is_array(std::string_view key) const;

 private:
  const GgufValue& value(std::string_view key) const;
  const GgufArray* array(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const;

  std::string file_;
  std::map<std::string, GgufValue, std::less<>> values_;
};

}  // namespace qkv
