// The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al., 2017).
//
//     memory = encoder layers( embedding(source) sqrt(C) + positions )
//     logits = decoder layers( embedding(target) sqrt(C) + positions, memory ) W^T
//
//     Transformer model(recipe("transformer-base"), /*seed=*/1);
//     CrossEntropy e = model.loss(source, lengths, target_in, target_out, {.label_smoothing = 0.1f}, pass);
//     e.loss.backward();
//
// Token ids are i32 (B,S) and (B,T), padded at the end with any valid ids; `lengths` has the length of every
// source. Except in post-LN models, a norm follows the last encoder block and the last decoder block.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "qkv/layer/block.h"
#include "qkv/layer/sinusoidal_positions.h"
#include "qkv/model/config.h"
#include "qkv/op/cross_entropy.h"

namespace qkv {

// The output of the encoder for a batch of sentences.
struct Encoded {
  Variable memory;               // (B,S,C)
  std::vector<int32_t> lengths;  // of the sources, without padding
};

// The state of incremental decoding of R = B * beam hypotheses, those of a sentence adjacent.
struct DecoderState {
  std::vector<Block::Memory> memory;   // per block
  std::vector<AttentionCache> caches;  // per block
  int64_t position = 0;                // of the next step
};

class Transformer final : public Module {
 public:
  Transformer(const TransformerConfig& config, uint64_t seed);
  explicit Transformer(const TransformerConfig& config);  // without initial values and memory: to be loaded

  const TransformerConfig& config() const { return config_; }

  Encoded encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const;
  // The last decoder layer's output for every target position, (B,T,C).
  Variable decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const;
  Variable logits(const Variable& hidden) const;  // (..., C) -> (..., V)

  // Cross entropy over the positions of target_out (B,T) that are not options.ignore_index, without storing all
  // logits.
  CrossEntropy loss(const Encoded& encoded, const Tensor& target_in, const Tensor& target_out,
                    const CrossEntropyOptions& options, Pass& pass) const;
  CrossEntropy loss(const Tensor& source, std::vector<int32_t> lengths, const Tensor& target_in,
                    const Tensor& target_out, const CrossEntropyOptions& options, Pass& pass) const;

  // Incremental decoding. step() takes the R ids of the newest position and returns the logits (R,V) of the next;
  // reorder() makes row r continue row source[r]. The rows of a sentence must stay adjacent. Finished sentences
  // are dropped by reorder() to the rows of the others, then keep_sentences() with their indices and lengths.
  DecoderState start(const Encoded& encoded) const;
  Tensor step(DecoderState& state, const Tensor& ids, Pass& pass) const;
  void reorder(DecoderState& state, std::span<const int64_t> source) const;
  void keep_sentences(DecoderState& state, std::span<const int64_t> sentences,
                      std::span<const int32_t> lengths) const;

  void list(ModuleContents& contents) const override;

 private:
  Variable embed(const Tensor& ids, const Parameter& table, const Parameter& positions, int64_t first) const;

  TransformerConfig config_;
  Parameter source_embedding_, target_embedding_, output_;  // the same one where they are tied
  Parameter source_positions_, target_positions_;           // none unless they are learned
  SinusoidalPositions sinusoidal_;
  std::vector<Block> encoder_, decoder_;
  std::optional<Norm> encoder_norm_, decoder_norm_;  // none in post-LN
};

}  // namespace qkv
