// The sentence, as options of a call:
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
  // Every query goes by itself, as the only query of a call (T = 1) does in any case: for the steps of decoding,
  // whose results should not depend on how many hypotheses share keys. Without effect where a gradient is recorded.
  bool single_queries = false;
};

}  // namespace qkv
