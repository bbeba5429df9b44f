// The logits of a model: a linear layer from its width to the vocabulary, whose matrix is often the embedding matrix.
//
//     logits = cap( scale * hidden W^T + bias ),    cap(l) = softcap tanh(l / softcap)         Gemma Team, "Gemma 2", 2024
//
// If the matrix has a width E other than C, a bias-free projection (E,C) comes first: hidden -> projection (E,C) -> W.
//
//     OutputProjection output(embedding_table, {.bias = true});
//     Variable logits = output.logits(hidden);                          // (..., C) -> (..., V)
//     CrossEntropy e = output.loss(hidden, targets, options);           // hidden (B,T,C), targets i32 (B,T)
//
// Where only some tokens may be next, only their logits are computed, with the bits that they have among all:
//
//     OutputProjection some = output.of_tokens(ids);                    // logits (..., ids); for inference
//
// Without a head (exists = false) both are a UsageError. loss() does not store all logits, unless they are capped.
// Parameters: bias (V), projection. The matrix (V,C) is listed by the model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "qkv/layer/linear.h"
#include "qkv/op/cross_entropy.h"

namespace qkv {

struct OutputProjectionOptions {
  int64_t width = 0;  // C; 0: the width of the matrix
  bool exists = true;
  bool bias = false;
  float scale = 1.0f;
  float softcap = 0.0f;  // 0: none
};

class OutputProjection final : public Module {
 public:
  explicit OutputProjection(const Parameter& matrix, const OutputProjectionOptions& options = {});
  Variable logits(const Variable& hidden) const;
  // The logits of hidden (R,C) in blocks of tokens, which are not stored together; for inference.
  void logits_in_blocks(const Tensor& hidden, int parts, FunctionRef<void(const kernel::ProductBlock&)> take) const;
  // The logits (R,U) of the tokens that may be among the counts[r] largest of a row of hidden (R,C), and of those in also[r]
  // (op/maximum_inner_product.h); for inference. ids[r]: of row r, sorted. The columns are the tokens of all rows, sorted. Where
  // the whole product takes less time, or a search finds too many, ids is empty and logits are (R,V).
  struct LargestLogits {
    std::vector<std::vector<int32_t>> ids;
    Tensor logits;
  };
  LargestLogits largest_logits(const Tensor& hidden, std::span<const int64_t> counts,
                               std::span<const std::vector<int32_t>> also) const;
  // Whether that is worth asking for.
  bool searches_largest(int64_t rows) const;
  CrossEntropy loss(const Variable& hidden, const Tensor& targets, const CrossEntropyOptions& options) const;
  // Column i is the logit of token ids[i]. It has copies of their rows. Errors: no ids, or ids outside the vocabulary.
  OutputProjection of_tokens(std::span<const int32_t> ids) const;
  void list(ModuleContents& contents) const override;

  Parameter weight;  // not listed
  Parameter bias;
  std::optional<Linear> projection;

 private:
  Tensor bias_of(std::span<const int32_t> ids) const;
  Variable projected(const Variable& hidden) const;
  Variable capped(const Variable& logits) const;
  OutputProjectionOptions options_;
};

}  // namespace qkv
