// What the fuzz targets share. A target is one function of the bytes of an input, in a file of its own; libFuzzer
// or replay.cc calls it with one input after the other.
//
//     extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
//       qkv::fuzz::accepted([&] { config_from_json(qkv::fuzz::as_text(data, size), "config.json"); });
//       return 0;
//     }
//
// An input may be taken, or refused with an InputError or a UsageError whose message fits on a line. A crash,
// another exception, and an expect() that does not hold are findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qkv::fuzz {

std::string_view as_text(const uint8_t* data, size_t size);

// Ends the program with the message unless it holds.
void expect(bool holds, std::string_view message);

// Whether the action came to its end. False: it refused its input.
bool accepted(const std::function<void()>& action);

// Numbers and strings from the input, in order; zeros and empty strings after its end.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : rest_(as_text(data, size)) {}
  uint8_t byte();
  int64_t between(int64_t low, int64_t high);  // of one byte, or two where there are more numbers
  std::string text(size_t max_length);         // its length first
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// The bytes as a file, for what reads files.
class InputFile {
 public:
  explicit InputFile(std::string_view bytes);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  std::string path() const;

 private:
  int file_;
};

}  // namespace qkv::fuzz
