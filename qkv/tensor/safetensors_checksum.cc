#include "qkv/tensor/safetensors_checksum.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

// The offset of the sum in a header written by this library. In JSON a quote inside a string is escaped, so the
// match can only be a key and the beginning of its value.
size_t offset_of_sum(std::string_view header) {
  const std::string before = fmt::format("\"{}\":\"", safetensors_checksum_key);
  const size_t at = header.find(before);
  return at == header.npos ? at : at + before.size();
}

uint32_t sum_of_data(const RandomAccessFile& file, int64_t begin) {
  constexpr int64_t piece = 1 << 20;
  const int64_t bytes = file.size() - begin;
  std::vector<uint32_t> sums(static_cast<size_t>(ceil_div(bytes, piece)));
  const auto size_of_piece = [&](int64_t i) { return std::min(piece, bytes - i * piece); };
  parallel_for(static_cast<int64_t>(sums.size()), [&](int64_t i) {
    const auto size = static_cast<size_t>(size_of_piece(i));
    const std::unique_ptr<char[]> buffer(new char[size]);
    file.read(begin + i * piece, std::as_writable_bytes(std::span(buffer.get(), size)));
    sums[static_cast<size_t>(i)] = crc32({buffer.get(), size});
  });
  uint32_t sum = 0;
  for (size_t i = 0; i < sums.size(); ++i) sum = crc32_joined(sum, sums[i], size_of_piece(static_cast<int64_t>(i)));
  return sum;
}

}  // namespace

void set_safetensors_checksum(std::string& header, uint32_t sum) {
  const std::string text = checksum_text(sum);
  header.replace(offset_of_sum(header), text.size(), text);
}

void check_safetensors_checksum(const RandomAccessFile& file, std::string header,
                                std::map<std::string, std::string>& metadata, const std::string& file_name) {
  // One wrong bit can damage the key or the value, not both.
  const std::string_view kind = "crc32:";
  const auto entry = std::find_if(metadata.begin(), metadata.end(), [&](const auto& e) {
    return e.first == safetensors_checksum_key || e.second.starts_with(kind);
  });
  if (entry == metadata.end()) return;
  const size_t at = offset_of_sum(header);
  bool right = entry->first == safetensors_checksum_key && at != header.npos &&
               header.compare(at, entry->second.size(), entry->second) == 0 &&
               entry->second.size() == checksum_text(0).size();
  if (right) {
    set_safetensors_checksum(header, 0);
    const auto begin = static_cast<int64_t>(header.size());
    const uint32_t sum = crc32_joined(crc32(header), sum_of_data(file, begin), file.size() - begin);
    right = entry->second == checksum_text(sum);
  }
  require<InputError>(right, "safetensors",
                      "{}: its bytes do not match the checksum: it is damaged, or another program has changed it "
                      "and kept '{}' in the metadata",
                      file_name, safetensors_checksum_key);
  metadata.erase(entry);
}

}  // namespace qkv
