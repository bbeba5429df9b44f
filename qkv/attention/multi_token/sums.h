// Gradients that the backward of multi-token attention sums over its row blocks.
#pragma once

#include <vector>

#include "qkv/attention/engine/tiles.h"
#include "qkv/attention/multi_token/call.h"
#include "qkv/base/integers.h"
#include "qkv/tensor/layout.h"

namespace qkv::internal {

// Partial sums of the gradient of a parameter, in double: `parts` of `size` numbers, added in order.
class PartialSums {
 public:
  PartialSums(int64_t parts, int64_t size) : size_(size), sums_(static_cast<size_t>(parts * size)) {}
  double* of(int64_t part) { return sums_.data() + part * size_; }
  Tensor total(const Shape& shape) const {
    Tensor out = Tensor::empty(shape);
    float* to = out.data<float>();
    for (int64_t i = 0; i < size_; ++i) {
      double sum = 0;
      for (size_t at = static_cast<size_t>(i); at < sums_.size(); at += static_cast<size_t>(size_))
        sum += sums_[at];
      to[i] = static_cast<float>(sum);
    }
    return out;
  }

 private:
  int64_t size_;
  std::vector<double> sums_;
};

inline int64_t count_chunks(const MultiTokenCall& call) { return ceil_div(call.shape.S, max_block_keys); }

// All sums of a call. Rows of dk and dv are rounded up to the lanes.
struct MultiTokenSums {
  Tensor dq, dk, dv;
  PartialSums pre_conv, post_conv;  // one part per batch row
  PartialSums pre_mix, post_mix;    // one part per chunk of a batch row

  explicit MultiTokenSums(const MultiTokenCall& call)
      : dq(empty_in_order_of(call.q, call.q.shape())),
        dk(Tensor::zeros({call.shape.B, call.shape.G, call.shape.S, round_to_lanes(call.shape.D)})),
        dv(Tensor::zeros({call.shape.B, call.shape.G, call.shape.S, round_to_lanes(call.shape.E)})),
        pre_conv(call.shape.B, of_convolution(call, call.pre_conv)),
        post_conv(call.shape.B, of_convolution(call, call.post_conv)),
        pre_mix(call.shape.B * count_chunks(call), of_mix(call, call.pre_mix)),
        post_mix(call.shape.B * count_chunks(call), of_mix(call, call.post_mix)) {
    dq.fill(0.0f);
  }

 private:
  static int64_t of_convolution(const MultiTokenCall& call, const HeadConvolution& c) {
    return c.given() ? call.shape.H * c.size() : 0;
  }
  static int64_t of_mix(const MultiTokenCall& call, const HeadMix& mix) {
    return mix.given() ? call.shape.H * mix.size : 0;
  }
};

}  // namespace qkv::internal
