// model.bin of CTranslate2: its tensors and settings (binary versions 1 to 6, little-endian).
//
//     const CTranslate2File file = CTranslate2File::load("ende/model.bin");
//     file.tensors.at("decoder/embeddings/weight")                                  // f32
//     file.setting("encoder/num_heads", 8)
//
// Weights of 8 and 16 bits are divided by their scales (w = q / scale), weights of 16 bits in old files by 1000; f16
// and bf16 are widened. An alias is the tensor that it names. Errors: InputError for other versions, for AWQ, and for
// files whose names and sizes do not fit.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "qkv/tensor/tensor.h"

namespace qkv {

struct CTranslate2File {
  static CTranslate2File load(const std::filesystem::path& path);

  std::string where;  // for messages
  std::string spec;   // "TransformerSpec"
  uint32_t revision = 1;
  int64_t bytes = 0;
  std::map<std::string, Tensor> tensors = {};       // rank 1 and more
  std::map<std::string, double> settings = {};      // rank 0
  std::map<std::string, std::string> aliases = {};  // to the names of tensors, never of other aliases

  bool has(const std::string& name) const { return tensors.contains(name); }
  double setting(const std::string& name, double absent) const {
    const auto found = settings.find(name);
    return found == settings.end() ? absent : found->second;
  }
};

}  // namespace qkv
