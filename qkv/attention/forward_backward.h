// The forward and the backward of attention as two calls, for a program with a tape of its own.
//
//     AttentionForward forward = attention_forward(q, k, v, options);
//     AttentionGradients g = attention_backward(forward, q, k, v, dout, options);     // g.dq, g.dk, g.dv
//
// Gradients of the parameters of the mechanisms are added to their Variables, as by any backward(). maximum and
// inverse_sum, (B,H,T) f32, are the softmax statistics of each query: the maximum score, and one over the sum of
// exp(score - maximum). lse = maximum - log(inverse_sum), and -infinity for a query without visible keys.
//
// Shapes, types and errors are those of attention.h; attention_backward() takes the inputs of attention_forward().
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
