#include "fuzz/mutated_models/damage.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "qkv/base/file.h"

namespace qkv::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::array extreme_numbers = {
    "0",
    "-1",
    "1",
    "2",
    "3",
    "-0",
    "0.5",
    "255",
    "256",
    "65535",
    "65536",
    "1000000",
    "16777216",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e-320",
    "1e308",
    "1e999",
    "-1e999",
    "null",
    "true",
    "\"7\"",
    "[]",
    "{}",
    "[[[[]]]]",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"};

size_t below(Random& random, size_t n) { return static_cast<size_t>(random.below(std::max<size_t>(n, 1))); }

// A range of bytes, mostly short.
struct Range {
  size_t begin, length;
};
Range range_in(const std::string& bytes, Random& random) {
  const size_t begin = below(random, bytes.size());
  const size_t max_length = random.below(3) ? 16 : bytes.size();
  return {begin, std::min(1 + below(random, max_length), bytes.size() - begin)};
}

std::string flip_bits(std::string& bytes, Random& random) {
  const size_t count = 1 + below(random, random.below(2) ? 1 : 16);
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    at = below(random, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
  }
  return fmt::format("{} bits flipped, the last in byte {}", count, at);
}

std::string truncate(std::string& bytes, Random& random) {
  bytes.resize(random.below(3) ? below(random, bytes.size())
                               : bytes.size() - std::min(bytes.size(), below(random, 9)));
  return fmt::format("cut off behind byte {}", bytes.size());
}

std::string remove_range(std::string& bytes, Random& random) {
  const Range range = range_in(bytes, random);
  bytes.erase(range.begin, range.length);
  return fmt::format("{} bytes removed at {}", range.length, range.begin);
}

std::string duplicate_range(std::string& bytes, Random& random) {
  const Range range = range_in(bytes, random);
  const size_t to = below(random, bytes.size());
  bytes.insert(to, bytes.substr(range.begin, range.length));
  return fmt::format("{} bytes of {} once more at {}", range.length, range.begin, to);
}

std::string swap_ranges(std::string& bytes, Random& random) {
  const size_t length = std::min(1 + below(random, 4096), bytes.size() / 2);
  const size_t a = below(random, bytes.size() - 2 * length + 1),
               b = a + length + below(random, bytes.size() - a - 2 * length + 1);
  std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a),
                   bytes.begin() + static_cast<std::ptrdiff_t>(a + length),
                   bytes.begin() + static_cast<std::ptrdiff_t>(b));
  return fmt::format("{} bytes at {} and {} swapped", length, a, b);
}

std::string overwrite_range(std::string& bytes, Random& random) {
  const Range range = range_in(bytes, random);
  const auto kind = random.below(4);
  for (size_t i = 0; i < range.length; ++i)
    bytes[range.begin + i] = kind == 0   ? '\0'
                             : kind == 1 ? '\xff'
                             : kind == 2 ? "\x00\x00\x80\x7f"[(range.begin + i) % 4]  // f32: infinity
                                         : static_cast<char>(random.bits());
  return fmt::format("{} bytes at {} overwritten", range.length, range.begin);
}

// Of a safetensors file: the first eight bytes are the length of the header behind them.
size_t header_length(const std::string& bytes) {
  size_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}
void set_header_length(std::string& bytes, size_t length) {
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> 8 * i & 255);
}

// Numbers of JSON: of a whole file, or of the header of a safetensors file, whose length is then mended.
std::string replace_number(std::string& bytes, Random& random) {
  const bool has_header = bytes.size() > 9 && bytes[0] != '{' && bytes[8] == '{';
  const size_t begin = has_header ? 8 : 0;
  const size_t end = has_header ? std::min(8 + header_length(bytes), bytes.size()) : bytes.size();
  std::vector<Range> numbers;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isdigit(static_cast<unsigned char>(bytes[i]))) continue;
    const size_t from = i;
    while (i < end && (std::isdigit(static_cast<unsigned char>(bytes[i])) || bytes[i] == '.')) ++i;
    numbers.push_back({from, i - from});
  }
  if (numbers.empty()) return "no number";
  const Range number = numbers[below(random, numbers.size())];
  const std::string was = bytes.substr(number.begin, number.length),
                    is = extreme_numbers[below(random, extreme_numbers.size())];
  bytes.replace(number.begin, number.length, is);
  if (has_header) set_header_length(bytes, header_length(bytes) + is.size() - was.size());
  return fmt::format("number {} at byte {} is now {}", was, number.begin, is);
}

// The bytes that hold lengths and kinds in the first part of a file: a byte is set to an extreme one.
std::string change_size(std::string& bytes, Random& random) {
  constexpr std::array<unsigned char, 8> values = {0, 1, 8, 0x7f, 0x80, 0xc8, 0xfe, 0xff};
  const size_t at = below(random, std::min<size_t>(bytes.size(), random.below(2) ? 16 : 2000));
  bytes[at] = static_cast<char>(values[below(random, values.size())]);
  return fmt::format("byte {} is now {}", at, static_cast<unsigned char>(bytes[at]));
}

using Change = std::string (*)(std::string& bytes, Random& random);
constexpr std::array<Change, 9> changes = {flip_bits,       flip_bits,       truncate,
                                           remove_range,    duplicate_range, swap_ranges,
                                           overwrite_range, replace_number,  change_size};

std::string change_folder(Folder& folder, const std::string& name, Random& random) {
  auto other = folder.begin();
  std::advance(other, static_cast<std::ptrdiff_t>(below(random, folder.size())));
  switch (random.below(4)) {
    case 0: folder.erase(name); return "missing";
    case 1: folder[name].clear(); return "empty";
    case 2: folder[name] = other->second; return "a copy of " + other->first;
    default: std::swap(folder[name], other->second); return "swapped with " + other->first;
  }
}

std::string damage_once(Folder& folder, Random& random) {
  auto chosen = folder.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(below(random, folder.size())));
  const std::string name = chosen->first;
  if (random.below(12) == 0) return name + ": " + change_folder(folder, name, random);
  if (chosen->second.size() < 4) return name + ": nothing to change";
  // JSON is the text with the most to understand.
  const bool number = random.below(3) == 0 && (name.ends_with(".json") || name.ends_with(".safetensors"));
  const Change change = number ? replace_number : changes[below(random, changes.size())];
  return name + ": " + change(chosen->second, random);
}

}  // namespace

Folder read_folder(const fs::path& path) {
  Folder folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.is_regular_file()) folder[entry.path().filename().string()] = read_file(entry.path());
  return folder;
}

void write_folder(const Folder& folder, const fs::path& path) {
  fs::remove_all(path);
  fs::create_directories(path);
  for (const auto& [name, bytes] : folder) {
    const fs::path file = path / name;
    std::FILE* out = std::fopen(file.c_str(), "wb");  // thousands of files that need not survive a power cut
    if (!out || std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size() || std::fclose(out) != 0)
      throw FileError("write", file.string(), errno);
  }
}

void remove_checksums(Folder& folder) {
  // In the header of a safetensors file keys and the sum are renamed, so that no length changes.
  for (auto& [name, bytes] : folder)
    for (const std::string key : {"\"qkv.checksum\":", "\"crc32:", "\"source.model\":", "\"target.model\":"})
      if (const size_t at = bytes.find(key); at != bytes.npos && name.ends_with(".safetensors"))
        bytes[at + 1] = 'X';
  const auto config = folder.find("config.json");
  if (config == folder.end()) return;
  const size_t line = config->second.find("  \"checksum\": ");
  if (line != config->second.npos) config->second.erase(line, config->second.find('\n', line) + 1 - line);
}

std::string damage(Folder& folder, Random& random) {
  std::string what;
  for (uint64_t count = 1 + random.below(6) / 4 + random.below(6) / 5; count > 0 && !folder.empty(); --count)
    what += (what.empty() ? "" : "; ") + damage_once(folder, random);
  return what;
}

}  // namespace qkv::fuzz
