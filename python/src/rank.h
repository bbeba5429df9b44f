// Calls with fewer than four axes: (N,T,D) is a batch with one head, as in PyTorch; (T,D) a batch of one, too. Results
// have as many axes as the inputs.
#pragma once

#include "qkv/base/error.h"
#include "qkv/tensor/tensor.h"

namespace qkv::python {

inline Tensor insert_axis(const Tensor& x, int axis) {
  Shape shape, strides;
  for (int i = 0; i <= x.rank(); ++i) {
    if (i == axis) {
      shape.push_back(1);
      strides.push_back(i < x.rank() ? x.dim(i) * x.stride(i) : 1);
    }
    if (i == x.rank()) break;
    shape.push_back(x.dim(i));
    strides.push_back(x.stride(i));
  }
  return Tensor::view(x.storage(), x.dtype(), shape, strides, x.offset());
}

// A table of fewer than four axes, as NumPy broadcasts it to the scores (B,H,T,S). Of a call of three axes, (N,T,S),
// the first of three axes is the batch.
inline Tensor four_axes(Tensor x, bool no_heads) {
  if (x.rank() == 3 && no_heads) return insert_axis(x, 1);
  while (x.rank() < 4) x = insert_axis(x, 0);
  return x;
}

class Inputs {
 public:
  Tensor q, k, v;  // four axes

  Inputs(const Tensor& q_, const Tensor& k_, const Tensor& v_) : rank_(q_.rank()) {
    require(rank_ >= 2 && rank_ <= 4 && k_.rank() == rank_ && v_.rank() == rank_, "attention",
            "expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), or three, (B,T,D), or two, (T,D), of all "
            "of them; q is {}, k is {}, v is {}",
            q_.shape(), k_.shape(), v_.shape());
    q = with_heads(q_);
    k = with_heads(k_);
    v = with_heads(v_);
  }

  // An array with the axes of q, as four axes.
  Tensor with_heads(const Tensor& x) const {
    if (rank_ == 4 || x.rank() != rank_) return x;
    return insert_axis(rank_ == 3 ? x : insert_axis(x, 0), 1);
  }
  // A result (B,H,...), with the axes of the inputs.
  Tensor result(const Tensor& x) const {
    if (rank_ == 4) return x;
    return without_heads(x.select(1, 0));
  }
  // The same of a result (B,...) that has no heads.
  Tensor without_heads(const Tensor& x) const { return rank_ == 2 ? x.select(0, 0) : x; }

 private:
  int rank_;
};

}  // namespace qkv::python
