// The source of each parameter of a model in the files of its family: the name of a tensor, and which of its rows.
//
//     TensorNames names("model.");                                                // a prefix that files may lack
//     names.tensor("embedding.tokens", "model.embed_tokens.weight");
//     names.linear("layers.0.self_attention.out", "model.layers.0.self_attn.o_proj");           // weight, and bias
//     names.linear("layers.0.self_attention.key", "model.layers.0.attn.c_attn", {.rows = row_range(C, 2 * C), .transposed = true});
//
// `linear` and `norm` name weight and bias; only those that the model has are read. Tensors that match an ignored
// pattern may be in the files and are not read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

struct TensorPart {
  std::vector<int64_t> rows = {};  // of the tensor, after it was transposed; none: all
  bool transposed = false;         // stored as (in, out)
};
struct TensorSource {
  std::string name;
  TensorPart part = {};
  bool is_optional = false;
};

// begin, begin + 1, ..., end - 1.
std::vector<int64_t> row_range(int64_t begin, int64_t end);

// A matrix with the rows of queries, keys and values in groups: each group has `queries` query heads, then a key head
// and a value head, of `width` rows each.
struct FusedRows {
  std::vector<int64_t> query, key, value;
};
FusedRows fused_rows(int64_t groups, int64_t queries, int64_t width);

class TensorNames {
 public:
  explicit TensorNames(std::string prefix = "") : prefix_(std::move(prefix)) {}

  void tensor(const std::string& parameter, const std::string& name, const TensorPart& part = {});
  void linear(const std::string& layer, const std::string& name, const TensorPart& part = {});
  // Queries, keys and values of an attention layer in one matrix.
  void fused_attention(const std::string& layer, const std::string& name, const FusedRows& rows,
                       bool transposed = false);
  void norm(const std::string& layer, const std::string& name) { linear(layer, name); }
  // Ignores tensors whose names end like this: ".attn.bias"
  void ignore(const std::string& suffix);
  // The output matrix, which may be shared with an embedding.
  void output(const std::string& name) { output_ = name; }
  // Files may hold a tensor a second time, or only under this name.
  void copy(const std::string& name, const std::string& of) { copies_.emplace_back(name, of); }
  // Files without `of` may hold it under this name; files with both may differ, and this one is not read.
  void fallback(const std::string& name, const std::string& of) { fallbacks_.emplace_back(name, of); }
  // Zero if the files lack it.
  void optional_tensor(const std::string& parameter, const std::string& name) {
    sources_[parameter] = {.name = name, .is_optional = true};
  }

  const std::string& prefix() const { return prefix_; }
  const std::string& output() const { return output_; }
  const std::map<std::string, TensorSource>& sources() const { return sources_; }
  const std::vector<std::pair<std::string, std::string>>& copies() const { return copies_; }
  const std::vector<std::pair<std::string, std::string>>& fallbacks() const { return fallbacks_; }
  bool ignores(std::string_view name) const;

 private:
  std::string prefix_, output_;
  std::map<std::string, TensorSource> sources_;                          // by parameter
  std::vector<std::pair<std::string, std::string>> copies_, fallbacks_;  // a name and the name of the original
  std::vector<std::string> ignored_;
};

}  // namespace qkv
