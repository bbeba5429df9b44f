// Calls of attention(), drawn at random: shapes, strides, scores, masks, modifiers, sinks, kernel weights, dropout.
//
//     const Drawn call = draw(/*number=*/17, DType::f32);
//     Variable y = attention(call.q, call.k, call.v, call.options());
//
// A call is a function of its number, so one that fails can be drawn again.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "qkv/attention/attention.h"
#include "qkv/attention/modify/relative_buckets.h"

namespace qkv::test {

struct DrawnMask {
  std::function<MaskPtr(int64_t first, int64_t rows)> of_rows;  // the mask of these rows of the batch alone
  std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> sees;
};

struct DrawnModifier {
  enum Kind { softcap, bias, alibi, relative } kind;
  float cap = 0;
  RelativeBuckets buckets = {};
  Variable parameter = {};  // of all but softcap
};

enum class DrawnScore { scaled_dot, dot, cosine, gaussian };
enum class DrawnKernel { none, constant, epanechnikov, triangular };  // of kernel weights; none: softmax

struct Drawn {
  AttentionShape n;
  Tensor q, k, v, dout;
  DrawnScore score = DrawnScore::scaled_dot;
  float scale = 1;  // of dot and cosine
  float sigma = 1;  // of gaussian
  DrawnKernel kernel = DrawnKernel::none;
  std::vector<DrawnMask> masks;  // none or one
  std::vector<DrawnModifier> modifiers;
  Variable sink;  // (H), undefined: none
  ReweigherPtr dropout;
  bool single_queries = false;

  // What the plain computation reads. (B,H,T,S)
  std::vector<char> visible;
  std::vector<float> factors;  // of dropout

  // With a gradient: of the modifiers, in their order, and of the sink.
  std::vector<Variable> learnt_parameters() const;
  AttentionOptions options() const { return options_of_rows(0, n.B); }
  AttentionOptions options_of_rows(int64_t first, int64_t rows) const;
  std::string name() const;
};

struct DrawOptions {
  std::span<const uint8_t> choices = {};  // the first choices are made by these bytes
  int64_t most_work = 2'000'000;          // pairs times widths: what the plain computation has time for
};
Drawn draw(uint64_t number, DType dtype, const DrawOptions& options = {});

}  // namespace qkv::test
