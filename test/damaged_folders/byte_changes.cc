#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "test/damaged_folders/change.h"
#include "test/damaged_folders/little_endian.h"

namespace qkv::test {
namespace {

// A range of bytes, mostly short.
struct Range {
  size_t begin, length;
};
Range range_in(const std::string& bytes, Random& random) {
  const size_t begin = below(bytes.size(), random);
  const size_t max_length = random.below(3) > 0 ? 16 : bytes.size();
  return {begin, std::min(1 + below(max_length, random), bytes.size() - begin)};
}

}  // namespace

std::string flip_bits(std::string& bytes, Random& random) {
  if (bytes.empty()) return "";
  const size_t count = 1 + below(random.below(2) > 0 ? 1 : 16, random);
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    at = below(bytes.size(), random);
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
  }
  return fmt::format("{} bits flipped, the last in byte {}", count, at);
}

std::string truncate(std::string& bytes, Random& random) {
  if (bytes.empty()) return "";
  const size_t cut = 1 + below(random.below(3) > 0 ? bytes.size() : std::min<size_t>(bytes.size(), 8), random);
  bytes.resize(bytes.size() - cut);
  return fmt::format("cut off behind byte {}", bytes.size());
}

std::string insert_byte(std::string& bytes, Random& random) {
  const size_t at = below(bytes.size() + 1, random), count = 1 + below(64, random);
  bytes.insert(at, count, static_cast<char>(random.bits()));
  return fmt::format("{} times {} inserted at {}", count, static_cast<unsigned char>(bytes[at]), at);
}

std::string remove_range(std::string& bytes, Random& random) {
  if (bytes.empty()) return "";
  const Range range = range_in(bytes, random);
  bytes.erase(range.begin, range.length);
  return fmt::format("{} bytes removed at {}", range.length, range.begin);
}

std::string duplicate_range(std::string& bytes, Random& random) {
  if (bytes.empty()) return "";
  const Range range = range_in(bytes, random);
  const size_t to = below(bytes.size(), random);
  bytes.insert(to, bytes.substr(range.begin, range.length));
  return fmt::format("{} bytes of {} once more at {}", range.length, range.begin, to);
}

std::string swap_ranges(std::string& bytes, Random& random) {
  if (bytes.size() < 2) return "";
  const size_t length = std::min(1 + below(4096, random), bytes.size() / 2);
  const size_t a = below(bytes.size() - 2 * length + 1, random),
               b = a + length + below(bytes.size() - a - 2 * length + 1, random);
  for (size_t i = 0; i < length; ++i) std::swap(bytes[a + i], bytes[b + i]);
  return fmt::format("{} bytes at {} and {} swapped", length, a, b);
}

std::string overwrite_range(std::string& bytes, Random& random) {
  if (bytes.empty()) return "";
  const Range range = range_in(bytes, random);
  const auto kind = random.below(4);
  for (size_t i = 0; i < range.length; ++i)
    bytes[range.begin + i] = kind == 0   ? '\0'
                             : kind == 1 ? '\xff'
                             : kind == 2 ? "\x00\x00\x80\x7f"[(range.begin + i) % 4]  // f32: infinity
                                         : static_cast<char>(random.bits());
  return fmt::format("{} bytes at {} overwritten", range.length, range.begin);
}

std::string change_early_byte(std::string& bytes, Random& random) {
  if (bytes.empty()) return "";
  const size_t at = below(std::min<size_t>(bytes.size(), random.below(2) > 0 ? 16 : 2000), random);
  const int is = one_of(std::array{0, 1, 8, 0x7f, 0x80, 0xc8, 0xfe, 0xff}, random);
  bytes[at] = static_cast<char>(is);
  return fmt::format("byte {} is now {}", at, is);
}

std::string change_size(std::string& bytes, Random& random) {
  std::vector<size_t> places;
  for (size_t at = 0; at + 4 <= bytes.size(); ++at)
    if (const auto size = number_at<uint32_t>(bytes, at); size > 0 && size <= 4096) places.push_back(at);
  if (places.empty()) return "";
  const size_t at = one_of(places, random);
  const auto was = number_at<uint32_t>(bytes, at), is = other_size(was, random);
  set_number(bytes, at, is);
  return fmt::format("{} at byte {} is now {}", was, at, is);
}

}  // namespace qkv::test
