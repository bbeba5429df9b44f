// The attention formula, as options of a call:
//
//     attention(Q, K, V) = reweigh( normalize( mask( modify( score(Q, K) ) ) ) ) V
//
//     Tensor y = attention(q, k, v, {.mask = causal() & window(256)});
#pragma once

#include <vector>

#include "qkv/attention/mask/mask.h"
#include "qkv/attention/modify/modifier.h"
#include "qkv/attention/normalize/normalizer.h"
#include "qkv/attention/reweigh/reweigher.h"
#include "qkv/attention/score/score.h"

namespace qkv {

struct AttentionOptions {
  ScorePtr score = nullptr;              // null: scaled_dot()
  std::vector<ModifierPtr> modify = {};  // applied in this order
  MaskPtr mask = nullptr;                // null: every query sees every key
  NormalizerPtr normalize = nullptr;     // null: softmax()
  std::vector<ReweigherPtr> reweigh = {};
  // Take the single-query algorithm for T > 1 too, so that a decoding step has the same bits for any number of
  // hypotheses that share keys. Ignored where a gradient is recorded.
  bool single_queries = false;
};

}  // namespace qkv
