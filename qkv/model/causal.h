// A causal language model: a stack of blocks whose positions see only themselves and earlier ones (Radford et al.,
// "Improving Language Understanding by Generative Pre-Training", 2018).
//
//     logits[t] = blocks( embedding(ids[0 .. t]) sqrt(C) + positions ) W^T      of the token at t + 1
//
//     CausalTransformer model(config, /*seed=*/1);                               // config.architecture: causal
//     CrossEntropy e = model.loss(ids, targets, {}, pass);                      // ids i32 (B,T), targets ids one later
//     std::unique_ptr<Decoding> rows = model.start(/*rows=*/2);
//     Tensor logits = rows->extend({{1, 5, 7}, {1}}, pass);                     // prompts of unequal length: (2,V)
//
// Rows may hold several documents (text/packed_text.h): a position then sees its own document only.
//
// Processes that share sequences (Pass::part) give the same whole ids, targets and packing, and get the outputs, the loss and
// the gradients of their part: the sums over the processes are those of the whole. All of them call backward().
#pragma once

#include <memory>

#include "qkv/layer/output_projection.h"
#include "qkv/model/decoding.h"
#include "qkv/model/model.h"
#include "qkv/model/stack.h"

namespace qkv {

// Documents in the rows of a batch.
struct Packing {
  Tensor documents = {};  // i32 (B,T), of every token
  Tensor positions = {};  // i32 (B,T), in its document; none: in the row
};

class CausalTransformer final : public Model {
 public:
  static constexpr Architecture architecture = Architecture::causal;

  CausalTransformer(const TransformerConfig& config, uint64_t seed);
  explicit CausalTransformer(const TransformerConfig& config);  // without initial values: to be loaded

  void set_cache_format(CacheFormat format) override { stack_.cache_format = format; }

  // The output of the last block for every position, (B,T,C).
  Variable forward(const Tensor& ids, Pass& pass, const Packing& packing = {}) const;
  Variable logits(const Variable& hidden) const;  // (..., C) -> (..., V)
  // Cross entropy over the positions of targets (B,T) that are not options.ignore_index.
  CrossEntropy loss(const Tensor& ids, const Tensor& targets, const CrossEntropyOptions& options, Pass& pass,
                    const Packing& packing = {}) const;

  // Empty rows. The model must outlive the result.
  std::unique_ptr<Decoding> start(int64_t rows) const;

  // Parameters: embedding.tokens, output unless it is tied, embedding.positions if they are learned, layers.N, norm,
  // output.bias if there is one.
  void list(ModuleContents& contents) const override;

 private:
  Parameter embedding_;
  OutputProjection output_;
  Stack stack_;
};

}  // namespace qkv
