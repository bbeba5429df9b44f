// What a product with a weight (N,K) computes, for profiles: y = x W^T, dx = dy W and dW = dy^T x take the same, x being (M,K).
//
//     const OpScope scope("linear: dx", product_work(M, w.shape(), packed));
#pragma once

#include "qkv/autograd/profile.h"
#include "qkv/kernel/matmul.h"

namespace qkv {

inline OpWork product_work(int64_t M, const Shape& weight, const kernel::PackedMatrix& packed) {
  OpWork work = OpWork::product(M, weight[0], weight[1], packed.arithmetic());
  work.weight = weight;
  return work;
}

}  // namespace qkv
