// The header of a safetensors file, from untrusted input: everything is checked before it is used.
//
//     8 bytes   length n of the header, little-endian, at most 100 MB
//     n bytes   JSON: {"__metadata__": {key: text, ...},  name: {"dtype", "shape", "data_offsets": [begin, end]},
//               ...}
//     the rest  the numbers; offsets count from here, and the tensors cover every byte exactly once
//
// The format: https://github.com/huggingface/safetensors#format
//
//     const auto header = parse_safetensors_header(bytes, "model.safetensors");
//     header.entries[0].shape
//
// Any deviation is an InputError: "safetensors: model.safetensors: tensor 'x': ...".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/tensor/shape.h"

namespace qkv {

inline constexpr std::string_view safetensors_metadata_key = "__metadata__";
inline constexpr int64_t safetensors_header_limit = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  std::string dtype;           // as in the file: F32, BF16, I64, ...
  Shape shape;                 // at most six axes, its product does not overflow
  int64_t begin = 0, end = 0;  // within the data: end - begin is the size of dtype and shape
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
  int64_t data_begin = 0;  // of the data, from the start of the file
};

// The end of the header, 8 + n, from the first eight bytes of a file (fewer if it is shorter) and its size. The
// name is for messages.
int64_t safetensors_header_end(std::string_view first_bytes, int64_t file_bytes, const std::string& file_name);

// `bytes` are those up to the end of the header, of a file of `file_bytes`.
SafetensorsHeader parse_safetensors_header(std::string_view bytes, int64_t file_bytes,
                                           const std::string& file_name);
inline SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& file_name) {
  return parse_safetensors_header(file, static_cast<int64_t>(file.size()), file_name);
}

}  // namespace qkv
