#include "qkv/attention/multi_token/call.h"

#include <algorithm>
#include <cmath>

#include "qkv/attention/engine/call.h"
#include "qkv/base/error.h"

namespace qkv::internal {
namespace {

constexpr std::string_view op = "multi_token_attention";
constexpr int64_t max_halo = max_block_queries - strip_queries;  // leaves a block at least strip_queries outputs

HeadConvolution convolution_of(std::string_view name, const Variable& kernel, PadKey pad, int64_t H) {
  if (!kernel.defined()) return {};
  const Tensor& x = kernel.value();
  require(
      x.dtype() == DType::f32 && x.rank() == 4 && x.dim(0) == H && x.dim(1) == 1 && x.dim(2) > 0 && x.dim(3) > 0,
      op, "{} must be f32 (H,1,c_q,c_k) with H {}, it is {} {}", name, H, name_of(x.dtype()), x.shape());
  HeadConvolution c = {.taps = x.contiguous_copy(), .flipped = x.clone(), .queries = x.dim(2), .keys = x.dim(3)};
  require(pad != PadKey::both || c.keys % 2 == 1, op,
          "{} {}: c_k must be odd with PadKey::both, which centers the keys", name, x.shape());
  c.before = pad == PadKey::both ? (c.keys - 1) / 2 : pad == PadKey::left ? c.keys - 1 : 0;
  float* flipped = c.flipped.data<float>();
  for (int64_t h = 0; h < H; ++h) std::reverse(flipped + h * c.size(), flipped + (h + 1) * c.size());
  return c;
}

HeadMix mix_of(std::string_view name, const Variable& matrix, int64_t H) {
  if (!matrix.defined()) return {};
  const Tensor& x = matrix.value();
  require(x.dtype() == DType::f32 && x.shape() == Shape{H, H}, op, "{} must be f32 (H,H) with H {}, it is {} {}",
          name, H, name_of(x.dtype()), x.shape());
  return {.matrices = x.contiguous_copy(), .size = H};
}

HeadMix groups_of(const Variable& matrices, int64_t H) {
  const Tensor& x = matrices.value();
  require(x.dtype() == DType::f32 && x.rank() == 3 && x.dim(1) == x.dim(2) && x.dim(0) * x.dim(1) == H, op,
          "post_head must be f32 (H/c,c,c) with H {}, it is {} {}", H, name_of(x.dtype()), x.shape());
  return {.matrices = x.contiguous_copy(), .size = x.dim(1), .input_first = true};
}

}  // namespace

kernel::Convolution HeadConvolution::forward(int64_t head, const float* in, float* out, int64_t rows,
                                             int64_t width) const {
  return {.in = in,
          .out = out,
          .keys = rows,
          .width = width,
          .taps = taps.data<float>() + head * size(),
          .query_taps = queries,
          .key_taps = keys,
          .query_before = queries - 1,
          .key_before = before};
}

kernel::Convolution HeadConvolution::backward(int64_t head, const float* grad, float* out, int64_t rows,
                                              int64_t width) const {
  kernel::Convolution c = forward(head, grad, out, rows, width);
  c.taps = flipped.data<float>() + head * size();
  c.query_before = 0;
  c.key_before = keys - 1 - before;
  return c;
}

MultiTokenCall prepare(const Variable& q, const Variable& k, const Variable& v, const MultiTokenOptions& options,
                       const std::optional<MultiTokenPart>& part) {
  check_inputs(q.value(), k.value(), v.value());
  require(q.dim(3) == k.dim(3), op, "queries and keys must have the same width D: q is {}, k is {}",
          describe("BHTD", q.shape()), describe("BGSD", k.shape()));
  const int64_t H = q.dim(1);
  MultiTokenCall call = {
      .shape = {.B = q.dim(0), .H = H, .G = k.dim(1), .T = q.dim(2), .S = k.dim(2), .D = q.dim(3), .E = v.dim(3)},
      .part = {},
      .q = q.value(),
      .k = k.value(),
      .v = v.value(),
      .scale = options.scale.value_or(1.0f / std::sqrt(static_cast<float>(q.dim(3)))),
      .history = options.history,
      .mask = options.mask,
      .pre_conv = convolution_of("pre_conv", options.pre_conv, options.pad_key, H),
      .post_conv = convolution_of("post_conv", options.post_conv, options.pad_key, H),
      .pre_mix = mix_of("pre_mix", options.pre_mix, H),
      .post_mix = mix_of("post_mix", options.post_mix, H)};
  require(!options.post_head.defined() || !options.post_mix.defined(), op,
          "post_head and post_mix exclude each other: give one of them");
  if (options.post_head.defined()) call.post_mix = groups_of(options.post_head, H);
  require(call.halo() <= max_halo, op,
          "the convolutions may read at most {1} earlier queries together, they read {0}", call.halo(), max_halo);
  require(call.history >= 0 && call.history <= call.shape.T, op, "history must be 0 to T {1}, it is {0}",
          call.history, call.shape.T);
  call.part = part.value_or(MultiTokenPart{.whole = call.shape, .history = call.history});
  if (call.mask) call.mask->check(call.part.whole);
  const WeightDropout& d = options.dropout;
  require(d.rate >= 0 && d.rate < 1, op, "the rate of dropout must be in [0, 1), it is {}", d.rate);
  if (d.rate > 0) call.dropout = kernel::dropout_key(d.seed, d.stream, static_cast<float>(d.rate));
  return call;
}

std::vector<Variable> inputs_of(const Variable& q, const Variable& k, const Variable& v,
                                const MultiTokenOptions& options) {
  std::vector<Variable> inputs = {q, k, v};
  for (const Variable* x :
       {&options.pre_conv, &options.pre_mix, &options.post_conv, &options.post_head, &options.post_mix})
    if (x->defined()) inputs.push_back(*x);
  return inputs;
}

}  // namespace qkv::internal
