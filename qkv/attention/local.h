// Local attention (Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine Translation",
// 2015, section 3.2): a query attends to the keys j with |j - p_i| <= radius.
//
//     local_m   p_i = i ("monotonic"): sequences that run in parallel, whatever their lengths
//     local_p   p_i = L sigmoid(v_p . tanh(w_p q_i)) ("predictive"), L the number of keys. The weights are then
//               multiplied by exp(-(j - p_i)^2 / (2 sigma^2)), sigma = radius / 2, and not normalized again.
//
//     Variable y = attention(q, k, v, {.score = dot(), .mask = local_m(3)});
//     const PredictedWindow near = local_p(q, w_p, v_p, lengths, 3);
//     Variable z = attention(q, k, v, {.score = dot(), .mask = padding(lengths) & near.mask,
//                                      .reweigh = {near.reweigh}});
//
// Shapes   q (B,H,T,D), w_p (F,D), v_p (F), lengths (B) i32; p (B,H,T). Key positions begin with 0.
// Errors   a negative radius, for local_p one that is not positive; shapes or types that do not fit together.
//
// The gradient flows to w_p, v_p and q through the Gaussian window; the edges of the mask are constants.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/attention/reweigh/reweigher.h"

namespace qkv {

MaskPtr local_m(int64_t radius);

struct PredictedWindow {
  Variable p;
  MaskPtr mask;
  ReweigherPtr reweigh;
};
PredictedWindow local_p(const Variable& q, const Variable& w_p, const Variable& v_p, const Tensor& lengths,
                        int64_t radius);

}  // namespace qkv
