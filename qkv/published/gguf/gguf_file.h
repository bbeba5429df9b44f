// A GGUF file: its metadata, and tensors that are read when they are asked for.
//
//     GgufFile file = GgufFile::load("llama.gguf");
//     Tensor w = file.get("blk.0.attn_q.weight");           // (rows, K) as f32, or bf16 if it is stored so
//     const auto rows = file.stored_rows("blk.0.attn_q.weight");  // its blocks as they are; none: a format without blocks
//
// After map(), tensors whose numbers need no conversion, and blocks, are used where they are in the file, in read-only
// memory that all processes share (base/file_mapping.h). Errors: InputError for a file that read_gguf_header() rejects,
// and for a tensor that is not there.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/base/file.h"
#include "qkv/base/file_mapping.h"
#include "qkv/kernel/format/stored_rows.h"
#include "qkv/published/gguf/gguf_header.h"
#include "qkv/tensor/tensor.h"

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
  Tensor get(std::string_view name) const;
  std::optional<StoredRows> stored_rows(std::string_view name) const;
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
