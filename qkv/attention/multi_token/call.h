// A call of multi-token attention, checked and prepared.
#pragma once

#include <optional>
#include <vector>

#include "qkv/attention/multi_token.h"
#include "qkv/attention/tile.h"
#include "qkv/kernel/multi_token_kernels.h"
#include "qkv/kernel/row_kernels.h"

namespace qkv::internal {

// The convolution of every head, and its transpose for the backward.
struct HeadConvolution {
  Tensor taps, flipped;  // (H, queries * keys); undefined: no convolution
  int64_t queries = 1, keys = 1, before = 0;

  bool given() const { return taps.defined(); }
  int64_t halo() const { return queries - 1; }  // earlier rows that it reads
  int64_t size() const { return queries * keys; }
  // Both map `rows` rows of a head, (keys of the block x width), from `in` to `out`.
  kernel::Convolution forward(int64_t head, const float* in, float* out, int64_t rows, int64_t width) const;
  kernel::Convolution backward(int64_t head, const float* grad, float* out, int64_t rows, int64_t width) const;
};

// Products over heads: within every group of `size` heads, out[o] = sum_h element(o, h) in[h].
struct HeadMix {
  Tensor matrices;  // (H / size, size, size); undefined: no mixing
  int64_t size = 0;
  bool input_first = false;  // a matrix is (h, o), not (o, h)

  bool given() const { return matrices.defined(); }
};

// The whole that a call is a part of, in attention over processes (distributed_multi_token.h): masks and dropout see it. Of a call
// that is no part it is the call.
struct MultiTokenPart {
  AttentionShape whole;
  int64_t history = 0;         // of the whole
  int64_t query = 0, key = 0;  // the places in it of the first query and the first key
};

struct MultiTokenCall {
  AttentionShape shape;  // T includes the history
  MultiTokenPart part;
  Tensor q, k, v;  // f32
  float scale = 1.0f;
  int64_t history = 0;
  MaskPtr mask;
  HeadConvolution pre_conv, post_conv;
  HeadMix pre_mix, post_mix;
  std::optional<kernel::DropoutKey> dropout = {};  // none: a rate of 0

  int64_t halo() const { return pre_conv.halo() + post_conv.halo(); }
  int64_t outputs() const { return shape.T - history; }
};

// Without a part, of the whole.
MultiTokenCall prepare(const Variable& q, const Variable& k, const Variable& v, const MultiTokenOptions& options,
                       const std::optional<MultiTokenPart>& part = {});

// q, k, v, and the given parameters: pre_conv, pre_mix, post_conv, post_head or post_mix.
std::vector<Variable> inputs_of(const Variable& q, const Variable& k, const Variable& v,
                                const MultiTokenOptions& options);

}  // namespace qkv::internal
