#include "fuzz/input.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#include "qkv/base/error.h"
#include "qkv/decode/overflow.h"

namespace qkv::fuzz {
namespace {

// A message is for one line of a terminal.
void expect_one_line(std::string_view message) {
  expect(message.size() < 2000, "the message of an error is too long");
  for (const char c : message)
    expect(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "the message of an error has a control character");
}

}  // namespace

std::string_view as_text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

void expect(bool holds, std::string_view message) {
  if (holds) return;
  std::fprintf(stderr, "finding: %.*s\n", static_cast<int>(message.size()), message.data());
  std::abort();
}

bool accepted(const std::function<void()>& action) {
  try {
    action();
    return true;
  } catch (const InputError& e) {
    expect_one_line(e.what());
  } catch (const UsageError& e) {
    expect_one_line(e.what());
  } catch (const Overflow& e) {  // weights so large that what is computed of them is not finite
    expect_one_line(e.what());
  }
  return false;
}

uint8_t Reader::byte() {
  if (rest_.empty()) return 0;
  const auto value = static_cast<uint8_t>(rest_[0]);
  rest_.remove_prefix(1);
  return value;
}

int64_t Reader::between(int64_t low, int64_t high) {
  const int64_t count = high - low + 1, value = byte();
  return low + (count <= 256 ? value : value << 8 | byte()) % count;
}

std::string Reader::text(size_t max_length) {
  const auto length = static_cast<size_t>(between(0, static_cast<int64_t>(max_length)));
  const std::string text(rest_.substr(0, length));
  rest_.remove_prefix(text.size());
  return text;
}

InputFile::InputFile(std::string_view bytes) : file_(::memfd_create("input", MFD_CLOEXEC)) {
  expect(file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
         "no file for the input");
}

InputFile::~InputFile() { ::close(file_); }

std::string InputFile::path() const { return fmt::format("/proc/self/fd/{}", file_); }

}  // namespace qkv::fuzz
