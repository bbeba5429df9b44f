// What a product with a weight (N,K) computes, for profiles: y = x W^T, dx = dy W and dW = dy^T x take the same, x being (M,K).
//
//     const OpScope scope("linear: dx", ProductWork(M, w.shape(), packed));
#pragma once

#include "qkv/autograd/profile.h"
#include "qkv/kernel/matmul.h"

namespace qkv {

class ProductWork {
 public:
  ProductWork(int64_t M, const Shape& weight, const kernel::PackedMatrix& packed)
      : M_(M), weight_(weight), packed_(packed) {}
  operator OpWork() const {  // NOLINT: implicit on purpose
    OpWork work = OpWork::product(M_, weight_[0], weight_[1], packed_.arithmetic());
    work.weight = weight_;
    return work;
  }

 private:
  int64_t M_;
  const Shape& weight_;
  const kernel::PackedMatrix& packed_;
};

}  // namespace qkv
