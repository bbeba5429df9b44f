// A NumPy archive (.npz): arrays by name, read as float32, or as bytes.
//
//     const NpzFile file = NpzFile::load("model.npz");
//     file.tensors.at("Wemb")                                // of '<f4' and '<f2'
//     file.bytes.at("special:model.yml")                     // of '|i1' and '|u1'
//
// Errors: InputError, naming the file and the array, if it is not such an archive, for other types, for arrays in
// Fortran order and for sizes that do not fit.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "qkv/tensor/tensor.h"

namespace qkv {

struct NpzFile {
  static NpzFile load(const std::filesystem::path& path);

  std::string where;  // for messages
  int64_t size = 0;   // of the arrays, in bytes
  std::map<std::string, Tensor> tensors = {};
  std::map<std::string, std::string> bytes = {};
};

}  // namespace qkv
