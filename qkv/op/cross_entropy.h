// Cross entropy with label smoothing e over V classes (Szegedy et al., 2016; Vaswani et al., 2017, section 5.4):
//
//     loss of a token = -(1 - e) log p[target] - (e / V) sum_c log p[c],   p = softmax(logits)
//
// and 0 where the target is ignore_index. The loss is the sum over tokens, or their mean over those not ignored.
//
// R-Drop (Wu et al., "R-Drop: Regularized Dropout for Neural Networks", 2021) penalizes the difference between the
// predictions of two passes over the same tokens, which differ only in their dropout. With its weight a, rows n and
// n + N/2 are the passes over token n:
//
//     loss of a token = (CE_p + CE_q) / 2 + (a / 4) (KL(p | q) + KL(q | p))
//
//     auto [loss, token_losses, count] = cross_entropy(logits, targets, {.label_smoothing = 0.1f});
//     auto result = linear_cross_entropy(x, {w, b}, targets);     // logits = x w^T + b, never stored as a whole
//
// Shapes: logits (N,V), targets (N) i32, x (N,C), w (V,C), b (V); loss (1), token_losses (N), with R-Drop (N/2).
// Errors: a target outside [0, V) that is not ignore_index; with R-Drop, an odd N, or two passes with different
// targets. The mean over no tokens is 0.
#pragma once

#include "qkv/op/weight.h"

namespace qkv {

struct CrossEntropyOptions {
  float label_smoothing = 0.0f;  // [0, 1)
  int32_t ignore_index = -1;
  float r_drop = 0.0f;  // the weight a; 0: every row is a token of its own
  enum class Reduction { mean, sum } reduction = Reduction::mean;
};

struct CrossEntropy {
  Variable loss;
  Tensor token_losses;
  int64_t count = 0;  // tokens not ignored
};

CrossEntropy cross_entropy(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

// Processes a few hundred tokens at a time: their logits, their loss, and their part of dx and dw if gradients are
// needed. Logits of ignored tokens are not computed.
struct OutputWeights {
  Weight weight;
  Variable bias = {};
};
CrossEntropy linear_cross_entropy(const Variable& x, const OutputWeights& weights, const Tensor& targets,
                                  const CrossEntropyOptions& options = {});

}  // namespace qkv
