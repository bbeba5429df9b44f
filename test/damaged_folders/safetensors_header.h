// The JSON at the beginning of a safetensors file, whose length the first eight bytes are.
//
//     if (const auto size = header_size(bytes)) header = bytes.substr(header_begin, *size);
//     set_header(bytes, "{}");                    // with its length
#pragma once

#include <optional>
#include <string>

#include "test/damaged_folders/little_endian.h"

namespace qkv::test {

inline constexpr size_t header_begin = 8;

inline std::optional<size_t> header_size(const std::string& bytes) {
  if (bytes.size() <= header_begin || bytes[0] == '{' || bytes[header_begin] != '{') return {};
  const auto size = number_at<uint64_t>(bytes, 0);
  if (size > bytes.size() - header_begin) return {};
  return static_cast<size_t>(size);
}

// Of bytes that have one.
inline void set_header(std::string& bytes, const std::string& header) {
  bytes.replace(header_begin, *header_size(bytes), header);
  set_number(bytes, 0, uint64_t{header.size()});
}

}  // namespace qkv::test
