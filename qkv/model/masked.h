// A masked language model: a stack of blocks whose positions see the whole sequence, trained to predict tokens that
// were replaced (Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019).
//
//     logits = norm( activation( blocks( embedding(ids) sqrt(C) + positions ) W1^T + b1 ) ) W^T + b
//
//     MaskedTransformer model(config, /*seed=*/1);                               // config.architecture: masked
//     Variable hidden = model.encode(ids, lengths, pass);                       // ids i32 (B,T), hidden (B,T,C)
//     CrossEntropy e = model.loss(ids, lengths, targets, {}, pass);             // targets i32 (B,T), else ignore_index
//
// `hidden` is what sentence embeddings are made of. Rows are padded at the end with any valid ids.
#pragma once

#include "qkv/layer/output_projection.h"
#include "qkv/model/model.h"
#include "qkv/model/stack.h"

namespace qkv {

class MaskedTransformer final : public Model {
 public:
  static constexpr Architecture architecture = Architecture::masked;

  MaskedTransformer(const TransformerConfig& config, uint64_t seed);
  explicit MaskedTransformer(const TransformerConfig& config);  // without initial values: to be loaded

  // types: i32 (B,T), the token type of every token, in a model that has them; none: 0
  Variable encode(const Tensor& ids, const std::vector<int32_t>& lengths, Pass& pass,
                  const Tensor& types = {}) const;
  // (..., C) -> (..., V). UsageError in a model without a head.
  Variable logits(const Variable& hidden) const;
  // Cross entropy over the positions of targets that are not options.ignore_index.
  CrossEntropy loss(const Tensor& ids, const std::vector<int32_t>& lengths, const Tensor& targets,
                    const CrossEntropyOptions& options, Pass& pass, const Tensor& types = {}) const;

  // Parameters: embedding.tokens, output unless it is tied, embedding.positions if they are learned, layers.N, norm,
  // and, unless it is an encoder alone, head.transform, head.norm, head.bias.
  void list(ModuleContents& contents) const override;

 private:
  Variable transformed(const Variable& hidden) const;

  Parameter embedding_;
  Linear transform_;
  Norm norm_;
  OutputProjection output_;
  Stack stack_;
};

}  // namespace qkv
