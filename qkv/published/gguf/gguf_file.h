// A GGUF file: its metadata, and tensors that are read when they are asked for.
//
//     GgufFile file = GgufFile::load("llama.gguf");
//     StoredValues w = file.get("blk.0.attn_q.weight");  // (rows, K): f32, bf16 or quantised, as it is stored
//
// After map(), tensors whose numbers need no conversion, and blocks of quantised ones, are used where they are in the file, in read-only
// memory that all processes share (base/file_mapping.h). Errors: InputError for a file that read_gguf_header() rejects,
// and for a tensor that is not there.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/base/file.h"
#include "qkv/base/file_mapping.h"
#include "qkv/op/weight.h"
#include "qkv/published/gguf/gguf_header.h"
#include "qkv/published/gguf/gguf_outline.h"

namespace qkv {

// Whether this is a file that begins as one.
bool is_gguf_file(const std::filesystem::path& path);

class GgufFile {
 public:
  static GgufFile load(const std::filesystem::path& path);

  void map();

  const GgufMetadata& metadata() const { return header_.metadata; }
  const std::vector<GgufTensor>& tensors() const { return header_.tensors; }
  bool has(std::string_view name) const { return index_.find(name) != index_.end(); }
  const GgufTensor& entry(std::string_view name) const;
  StoredValues get(std::string_view name) const;  // f16 as f32; quantised tensors of another rank than 2 as f32
  GgufOutline outline() const;
  int64_t bytes() const { return file_->size(); }

 private:
  explicit GgufFile(GgufHeader header) : header_(std::move(header)) {}
  std::shared_ptr<const std::byte> bytes_of(const GgufTensor& tensor) const;  // in the mapping, or read

  GgufHeader header_;
  std::shared_ptr<const RandomAccessFile> file_;
  std::shared_ptr<const FileMapping> mapping_;  // after map()
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace qkv
