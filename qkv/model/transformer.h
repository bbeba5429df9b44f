// The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al., 2017).
//
//     memory = encoder blocks( embedding(source) sqrt(C) + positions )
//     logits = decoder blocks( embedding(target) sqrt(C) + positions, memory ) W^T
//
//     Transformer model(recipe("transformer-base").transformer(), /*seed=*/1);
//     CrossEntropy e = model.loss(source, lengths, target_in, target_out, {.label_smoothing = 0.1f}, pass);
//     e.loss.backward();
//
// Token ids are i32 (B,S) and (B,T), padded at the end with any valid ids; `lengths` has the length of every
// source. Except in post-LN models, a norm follows the last encoder block and the last decoder block.
#pragma once

#include <memory>
#include <vector>

#include "qkv/layer/output_projection.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/stack.h"

namespace qkv {

class Transformer final : public EncoderDecoder {
 public:
  static constexpr Architecture architecture = Architecture::encoder_decoder;

  Transformer(const TransformerConfig& config, uint64_t seed);
  explicit Transformer(const TransformerConfig& config);  // without initial values and memory: to be loaded

  void set_cache_format(CacheFormat format) override { decoder_.cache_format = format; }

  using EncoderDecoder::loss;
  Encoded encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const override;
  // The last decoder block's output.
  Variable decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const override;
  Variable logits(const Variable& hidden) const override;
  CrossEntropy loss(const Variable& hidden, const Tensor& target_out,
                    const CrossEntropyOptions& options) const override;
  std::unique_ptr<Decoding> start(const Encoded& encoded) const override;
  int64_t cross_attention_layers() const override { return config().transformer().decoder_layers; }

  void list(ModuleContents& contents) const override;

 private:
  Parameter source_embedding_, target_embedding_;  // the same one where they are tied
  OutputProjection output_;                        // its matrix too
  Stack encoder_, decoder_;
};

}  // namespace qkv
