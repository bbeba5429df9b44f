// Attention as two calls, for a program that keeps a tape of its own: a forward that hands out what the backward
// will want, and the backward.
//
//     AttentionForward forward = attention_forward(q, k, v, options);
//     AttentionGradients g = attention_backward(forward, q, k, v, dout, options);     // g.dq, g.dk, g.dv
//
// Gradients of the parameters of the parts are left in their Variables, as by any backward(). maximum and
// inverse_sum, (B,H,T) f32, are what the normalizer ended with for each query: the largest score, and one over the
// sum of exp(score - maximum); lse = maximum - log(inverse_sum), and -infinity for a query that saw no key.
//
// Shapes, types and errors are those of attention.h; the second call takes what the first was given.
#pragma once

#include "qkv/attention/options.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct AttentionForward {
  Tensor out, maximum, inverse_sum;
};
AttentionForward attention_forward(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const AttentionOptions& options = {});

struct AttentionGradients {
  Tensor dq, dk, dv;
};
AttentionGradients attention_backward(const AttentionForward& forward, const Tensor& q, const Tensor& k,
                                      const Tensor& v, const Tensor& dout, const AttentionOptions& options = {});

}  // namespace qkv
