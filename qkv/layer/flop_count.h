// The arithmetic of parts of a model, for one token: FLOPs, two for a multiply-add, and the bytes that they move.
//
//     MatrixFlops matrices;
//     matrices.add(feed_forward);
//     FlopCount count = matrices.count("feed-forward", 6);                  // of 6 equal layers
//     FlopCount pairs = attention_flops("self-attention", layer, 6, 25, 25);
//     double useful = count.intensity(32 * 25);                             // FLOPs per byte, in a batch of 800 tokens
//
// In attention, only the pairs that its masks leave visible count, with the score of its variant. Norms, softmax,
// activations and the projections inside a score are left out: less than a hundredth. Bytes are those of f32, except of
// matrices, which may be held in another format: matrices once for all tokens of a batch; their inputs and outputs, or the queries, keys, values and outputs of attention, once
// for each token. A backward pass computes twice as much.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qkv/layer/multi_head_attention.h"

namespace qkv {

struct FlopCount {
  std::string part, formula;                // "encoder: self-attention, 25 of 25 keys", "6 * 4 C keys"
  int64_t flops = 0;                        // of one token
  int64_t weights = 0;                      // numbers in the matrices
  double token_bytes = 0;                   // of one token
  WeightFormat format = WeightFormat::f32;  // of the matrices

  int64_t weight_bytes() const { return bytes_of(format, weights); }
  double intensity(int64_t tokens) const;
};
FlopCount sum_of(const std::vector<FlopCount>& parts);

// The FLOPs of the matrices of modules: two for each element and each vector that it is multiplied with.
class MatrixFlops final : public ModuleContents {
 public:
  void add(const Module& module, int64_t times = 1);
  FlopCount count(const std::string& part, int64_t layers) const;  // of that many equal layers

  void parameter(const std::string&, const Parameter&) override {}
  void child(const std::string&, const Module& module) override { add(module); }

 private:
  int64_t flops_ = 0, weights_ = 0, token_bytes_ = 0;
  std::vector<std::pair<std::string, int64_t>> terms_;
};

// Scores, normalization and the weighted sum of T queries and S keys, for each query on average.
FlopCount attention_flops(const std::string& title, const MultiHeadAttentionOptions& layer, int64_t layers,
                          int64_t T, int64_t S);

}  // namespace qkv
