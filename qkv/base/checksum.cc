#include "qkv/base/checksum.h"

#include <algorithm>
#include <vector>

#include <zlib.h>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

constexpr std::string_view key = "\"checksum\"", before_sum = "\n  \"checksum\": \"", after_sum = "\",";
constexpr std::string_view no_sum = "crc32:00000000";

}  // namespace

uint32_t crc32(std::string_view bytes, uint32_t before) {
  return static_cast<uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

uint32_t crc32_joined(uint32_t first, uint32_t second, int64_t second_bytes) {
  return static_cast<uint32_t>(::crc32_combine(first, second, second_bytes));
}

uint32_t crc32_parallel(std::string_view bytes) {
  constexpr size_t piece = size_t{1} << 20;
  std::vector<uint32_t> sums(ceil_div(bytes.size(), piece));
  parallel_for(static_cast<int64_t>(sums.size()), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    sums[at] = crc32(bytes.substr(at * piece, piece));
  });
  uint32_t sum = 0;
  for (size_t i = 0; i < sums.size(); ++i)
    sum = crc32_joined(sum, sums[i], static_cast<int64_t>(std::min(piece, bytes.size() - i * piece)));
  return sum;
}

std::string checksum_text(uint32_t sum) { return fmt::format("crc32:{:08x}", sum); }

// The sum is computed over the text with a sum of 0.
std::string with_checksum(std::string_view json) {
  std::string text(json);
  require(text.starts_with("{\n"), "checksum", "this is not a JSON object with a line for each key: {}", json);
  const std::string line = fmt::format("{}{}{}", before_sum, no_sum, after_sum);
  text.insert(1, line);
  text.replace(1 + before_sum.size(), no_sum.size(), checksum_text(crc32(text)));
  return text;
}

std::string without_checksum(std::string_view json, std::string_view where) {
  std::string text(json);
  const size_t first = text.find_first_not_of(" \t\r\n", text.find_first_not_of(" \t\r\n") + 1);
  if (first == text.npos || text.compare(first, key.size(), key) != 0) return text;
  const size_t at = 1 + before_sum.size();
  const std::string sum = at <= text.size() ? text.substr(at, no_sum.size()) : "";
  if (text.size() >= at + no_sum.size()) text.replace(at, no_sum.size(), no_sum);
  const std::string line = fmt::format("{}{}{}", before_sum, no_sum, after_sum);
  require<InputError>(text.compare(1, line.size(), line) == 0 && sum == checksum_text(crc32(text)), where,
                      "its text does not match its checksum: it is damaged; if you have edited it, delete the line "
                      "with \"checksum\"");
  return text.erase(1, line.size());
}

}  // namespace qkv
