// The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al., 2017).
//
//     x = embedding(source) sqrt(C) + positions;   each encoder layer;                        memory
//     y = embedding(target) sqrt(C) + positions;   each decoder layer, looking at memory;     logits = y W^T
//
//     Transformer model(recipe("transformer-base"), /*seed=*/1);
//     auto [loss, tokens, count] = model.loss(source, lengths, target_in, target_out, {.label_smoothing = 0.1f},
//     pass); loss.backward();
//
// Token ids are i32 (B,S) and (B,T), padded at the end with anything; a source row has its length. Pre-LN models
// have a norm of their own after the last encoder and the last decoder layer; post-LN models, as in 2017, do not.
#pragma once

#include <memory>
#include <vector>

#include "qkv/layer/decoder_layer.h"
#include "qkv/model/config.h"
#include "qkv/op/cross_entropy.h"

namespace qkv {

// What the encoder made of a batch of sentences.
struct Encoded {
  Variable memory;               // (B,S,C)
  std::vector<int32_t> lengths;  // real positions of each row
};

// Where a batch of hypotheses stands: R = B * beam rows, those of one sentence side by side.
struct DecoderState {
  std::vector<MultiHeadAttention::KeyValues> memory;  // per layer, (B,G,S,D): projected once
  MaskPtr memory_mask;
  std::vector<AttentionCache> caches;  // per layer
  int64_t position = 0;
};

class Transformer {
 public:
  Transformer(const TransformerConfig& config, uint64_t seed);
  explicit Transformer(const TransformerConfig& config);  // matrices all zero: for a file to fill

  const TransformerConfig& config() const { return config_; }

  Encoded encode(const Tensor& source, std::vector<int32_t> lengths, Pass& pass) const;
  // The last decoder layer's output for every target position, (B,T,C).
  Variable decode(const Tensor& target_in, const Encoded& encoded, Pass& pass) const;
  Variable logits(const Variable& hidden) const;  // (..., C) -> (..., V)

  // Cross entropy over the positions of target_out (B,T) that are not options.ignore_index. Logits are never stored
  // whole.
  CrossEntropy loss(const Tensor& source, std::vector<int32_t> lengths, const Tensor& target_in,
                    const Tensor& target_out, const CrossEntropyOptions& options, Pass& pass) const;

  // One position at a time. step() takes the R ids of the newest position and gives (R,V) logits of the next;
  // reorder() lets row r go on from what row source[r] was. The rows of a sentence must stay side by side; to drop
  // finished sentences, keep_sentences() with those to keep (before: rows reordered to match).
  DecoderState start(const Encoded& encoded) const;
  Tensor step(DecoderState& state, const Tensor& ids, Pass& pass) const;
  void reorder(DecoderState& state, std::span<const int64_t> source) const;
  void keep_sentences(DecoderState& state, std::span<const int64_t> sentences,
                      std::span<const int32_t> lengths) const;

  void visit(const ParameterVisitor& visitor);
  int64_t parameter_count();

 private:
  void initialise(uint64_t seed);
  Variable embed(const Tensor& ids, const Variable& table, const Variable& positions, int64_t first) const;

  TransformerConfig config_;
  Variable source_embedding_, target_embedding_, output_;  // the same leaf where they are tied
  Variable source_positions_, target_positions_;  // learned: parameters; sinusoidal: the first rows; else none
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  std::vector<LayerNorm> encoder_norm_, decoder_norm_;  // one each in pre-LN, none in post-LN
};

}  // namespace qkv
