// Attention rollout (Abnar and Zuidema, "Quantifying Attention Flow in Transformers", 2020): how much of each input token
// reaches each position through all layers, if every layer passes on half of what a position has and half of what it attends to.
//
//     A_n = W_n / 2 + I / 2          W_n: the weights of layer n, their mean over the heads
//     R   = A_N ... A_2 A_1          row t: the shares of the input tokens in position t
//
//     const Tensor shares = attention_rollout(inspection.attention[0].layers);               // (T,T), rows sum to 1
//
// Rows of A are divided by their sums, so that shares sum to 1 where weights do not (a sink; no key visible: the position alone).
// Of self-attention: query t is at the position of key t. It takes the residual connection for half, whatever the layer does with
// values, and knows no feed-forward layers: it is a summary of the weights, not a measurement of influence (ablation.h).
//
// Shapes   layers (H,T,T) f32 each, the first layer first; the result (T,T) f32, computed in double precision.
// Errors   Error for no layers, and for weights that are not square or of different lengths.
#pragma once

#include <span>

#include "qkv/tensor/tensor.h"

namespace qkv {

Tensor attention_rollout(std::span<const Tensor> layers);

}  // namespace qkv
