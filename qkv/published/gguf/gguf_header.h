// What stands before the numbers of a GGUF file (versions 2 and 3, little-endian), from untrusted input: everything is
// checked before it is used.
//
//     "GGUF", version u32, number of tensors u64, number of keys u64
//     keys      name, type u32, value; a string is its length u64 and its bytes, an array the type of its items, their
//               number u64 and the items
//     tensors   name, number of axes u32, their lengths u64 with the innermost first, type u32, offset u64
//     numbers   from the next multiple of general.alignment (32) on; offsets count from there
//
// The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
//     const GgufHeader header = read_gguf_header(read, size, "llama.gguf");
//     header.tensors[0].shape                             // rows first, as everywhere here
//
// Any deviation is an InputError that names the file; so is a type of tensors that is not supported.
#pragma once

#include <optional>
#include <span>

#include "qkv/base/threads.h"
#include "qkv/kernel/weight_format.h"
#include "qkv/published/gguf/gguf_metadata.h"
#include "qkv/tensor/shape.h"

namespace qkv {

// A number format of tensors. The numbers of f16 are read as f32.
struct GgufTensorType {
  uint32_t number;  // in the file
  std::string_view name;
  WeightBlock block;
  std::optional<WeightFormat> format;  // none: f16
  uint32_t file_type;                  // general.file_type of a file whose matrices are of this type
};
std::span<const GgufTensorType> gguf_tensor_types();
// None: f16. An Error for int8, which these files do not have.
const GgufTensorType& gguf_tensor_type(std::optional<WeightFormat> format);

struct GgufTensor {
  std::string name;
  Shape shape;
  const GgufTensorType* type = nullptr;
  int64_t begin = 0, end = 0;  // of its bytes, from the start of the file
};

inline constexpr std::string_view gguf_magic = "GGUF";
inline constexpr int64_t gguf_alignment = 32;

struct GgufHeader {
  uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;
};

// read(begin, to) fills `to` with bytes of the file.
using ReadBytes = FunctionRef<void(int64_t begin, std::span<std::byte> to)>;
GgufHeader read_gguf_header(ReadBytes read, int64_t file_bytes, const std::string& file);

}  // namespace qkv
