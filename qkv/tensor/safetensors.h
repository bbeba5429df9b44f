// Tensors in files, in the safetensors format: names, types and shapes in a JSON header, then the numbers.
//
//     save_safetensors("model.safetensors", {{"weight", w}, {"bias", b}}, {{"step", "100"}});
//     const auto file = SafetensorsFile::load("model.safetensors");
//     Tensor w = file.get("weight", {8, 4});      // an InputError that names both shapes if it has another one
//
// | in the file                | get() gives                                          |
// | F32, BF16, I32, U8, BOOL   | the numbers (f32, bf16, i32, u8)                     |
// | F16, F64                   | the numbers as f32                                   |
// | I64                        | the numbers as i32; an InputError if one overflows   |
// | any other                  | an InputError that names the type; bytes() gives them |
//
// The header is checked before it is used (safetensors_header.h). Files written here have a checksum of all their
// bytes in their metadata, and load() verifies it: a damaged file is an InputError. Files of other programs have
// none and are read unverified. The file stays open, and get() reads the tensor from it. After map(), get() gives
// tensors whose numbers need no conversion where they are in the file, in read-only memory that all processes share
// (base/file_mapping.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qkv/base/file.h"
#include "qkv/base/file_mapping.h"
#include "qkv/tensor/safetensors_header.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

class SafetensorsFile {
 public:
  static SafetensorsFile load(const std::filesystem::path& path);

  // Tensors that are not aligned, and files that the system does not map, are read as before.
  void map();

  std::vector<std::string> names() const;  // in the order of their data
  bool has(std::string_view name) const { return index_.find(name) != index_.end(); }
  Tensor get(std::string_view name) const;
  Tensor get(std::string_view name, const Shape& expected) const;
  Tensor bytes(std::string_view name) const;  // u8, as they are in the file: of (N,K) I8 (N,K), of I32 (N,4K)
  // The header entry of a tensor. InputError if it has another shape than `expected`.
  const SafetensorsEntry& entry(std::string_view name) const;
  const SafetensorsEntry& entry(std::string_view name, const Shape& expected) const;
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }  // without the checksum

 private:
  void read(const SafetensorsEntry& entry, std::byte* to) const;
  Tensor get_as(DType type, const SafetensorsEntry& entry) const;
  Tensor get_as(DType type, const SafetensorsEntry& entry, const Shape& shape) const;

  std::string path_;  // for messages
  std::shared_ptr<const RandomAccessFile> file_;
  std::shared_ptr<const FileMapping> mapping_;  // after map()
  SafetensorsHeader header_;
  std::map<std::string, size_t, std::less<>> index_;  // name to index in header_.entries
};

SafetensorsHeader read_safetensors_header(const std::filesystem::path& path);  // does not read the numbers

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Replaces the file as a whole, or does not change it (file.h). The data is in the order given, wider types first
// so that every number is aligned; equal input gives equal bytes. Strided tensors are packed. The key of the
// checksum, "qkv.checksum", is reserved in the metadata.
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace qkv
