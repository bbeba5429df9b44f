// The tensors of a published model: model.safetensors, or, without it, the files that model.safetensors.index.json
// names.
//
//     const PublishedTensors tensors = PublishedTensors::open("llama");
//     Tensor w = tensors.get("model.norm.weight").numbers();
//
// Or those of a GGUF file (gguf/gguf_file.h), which may be quantised. A tensor may be composed of others
// (huggingface/quantized_matrices.h).
//
// Errors: InputError for a folder without such files, for an index that names other folders or the wrong file of a
// tensor, and for whatever SafetensorsFile rejects. A pytorch_model.bin, or its parts, are never read: loading one can
// execute arbitrary code.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/published/gguf/gguf_file.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {

class PublishedTensors;

// Values that are computed from tensors of the files, which then have no values of their own.
struct ComposedTensor {
  Shape shape;
  WeightFormat format = WeightFormat::f32;
  std::vector<std::string> parts = {};
  std::function<StoredValues(const PublishedTensors&)> read = {};
};

class PublishedTensors {
 public:
  static PublishedTensors open(const std::filesystem::path& folder);
  // Holds tensors that were read from another format, from a file of that many bytes.
  static PublishedTensors of(std::map<std::string, Tensor> tensors, const std::string& where, int64_t bytes);
  static PublishedTensors of(GgufFile file);

  void map();  // files, as SafetensorsFile::map()
  void compose(std::map<std::string, ComposedTensor> tensors);
  const std::map<std::string, ComposedTensor>& composed() const { return composed_; }

  const std::string& where() const { return where_; }  // for messages
  std::vector<std::string> names() const;
  bool has(std::string_view name) const {
    return files_of_.find(name) != files_of_.end() || tensors_.contains(std::string(name)) ||
           composed_.contains(std::string(name)) || (gguf_ && gguf_->has(name));
  }
  const SafetensorsFile& file_of(std::string_view name) const;  // that has it
  StoredValues get(std::string_view name) const;
  int64_t bytes() const { return bytes_; }  // of all files
  // At most so many numbers are in the files: one in a byte, and up to four where they are quantised.
  int64_t max_numbers() const { return gguf_ || !composed_.empty() ? 4 * bytes_ : bytes_; }

 private:
  std::string where_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t, std::less<>> files_of_;  // the index in files_ by name of the tensor
  std::map<std::string, ComposedTensor> composed_;
  std::map<std::string, Tensor> tensors_;  // instead of files
  std::optional<GgufFile> gguf_;           // instead of both
  int64_t bytes_ = 0;
};

}  // namespace qkv
