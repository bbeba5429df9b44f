// What a safetensors file says about itself, with nothing of it believed before it was checked.
//
//     8 bytes   length n of the header, little-endian, at most 100 MB
//     n bytes   JSON: {"__metadata__": {key: text, ...},  name: {"dtype", "shape", "data_offsets": [begin, end]},
//     ...} the rest  the numbers; offsets count from here, and the tensors cover every byte exactly once
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
  std::string dtype;           // as the file calls it: F32, BF16, I64, ...
  Shape shape;                 // at most six axes, its product does not overflow
  int64_t begin = 0, end = 0;  // within the data: end - begin is the size that dtype and shape ask for
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
  int64_t data_begin = 0;  // of the data, from the start of the file
};

// Where the header ends, 8 + n, from the first eight bytes of a file (fewer if it has no more) and its size. The
// name is for messages.
int64_t safetensors_header_end(std::string_view first_bytes, int64_t file_bytes, const std::string& file_name);

// Of a file of that size, of which the bytes up to the end of the header are here.
SafetensorsHeader parse_safetensors_header(std::string_view bytes, int64_t file_bytes,
                                           const std::string& file_name);
inline SafetensorsHeader parse_safetensors_header(std::string_view file, const std::string& file_name) {
  return parse_safetensors_header(file, static_cast<int64_t>(file.size()), file_name);
}

}  // namespace qkv
